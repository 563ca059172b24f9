import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRedirectUri, isSameRedirect, sourceOf, withQuery } from '../../../server/oauth/redirects.ts'

test('answers go to https, to this machine, or to an application', () => {
  for (const uri of [
    'https://agent.example/callback',
    'http://127.0.0.1:3000/callback',
    'http://localhost/cb',
    'http://[::1]:9/cb',
    'cursor://anysphere.cursor-retrieval/oauth',
    'com.example.app:/cb',
  ])
    assert.ok(isRedirectUri(uri), uri)
})

test('answers never go to another host over http, into a script, with a user name or a fragment', () => {
  for (const uri of [
    '',
    'callback',
    '/callback',
    'http://agent.example/cb',
    'http://127.0.0.1.example/cb',
    'http://127.0.0.2/cb',
    'https://user@agent.example/',
    'https://user:word@agent.example/',
    'https://agent.example/#part',
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'blob:https://agent.example/x',
    'https://agent.example/\\@other',
    ' https://agent.example/',
    'https://agent.example/a b',
    `https://agent.example/${'x'.repeat(2000)}`,
    'java\nscript:alert(1)',
    'cursor:',
    'https://*/',
    'https://a.example;script-src/',
    "https://'self'/",
  ])
    assert.ok(!isRedirectUri(uri), uri)
})

test('an address is the registered one as text, but for the port on this machine', () => {
  assert.ok(isSameRedirect('https://a.example/cb', 'https://a.example/cb'))
  assert.ok(isSameRedirect('http://127.0.0.1:3000/cb', 'http://127.0.0.1:4100/cb'))
  assert.ok(isSameRedirect('http://localhost/cb', 'http://localhost:4100/cb'))
  for (const [one, other] of [
    ['https://a.example/cb', 'https://a.example/cb/'],
    ['https://a.example/cb', 'https://a.example:444/cb'],
    ['https://a.example/cb', 'https://a.example/cb?next=x'],
    ['https://a.example/cb', 'https://a.example.evil/cb'],
    ['http://127.0.0.1:3000/cb', 'http://localhost:3000/cb'],
    ['http://127.0.0.1:3000/cb', 'http://127.0.0.1:3000/other'],
    ['http://127.0.0.1:3000/cb', 'https://127.0.0.1:3000/cb'],
    ['http://127.0.0.1:3000/cb', 'http://me@127.0.0.1:3000/cb'],
  ] as const)
    assert.ok(!isSameRedirect(one, other), other)
})

test('what is added to an address leaves its own query, and is encoded', () => {
  assert.equal(
    withQuery('https://a.example/cb?x=1', { code: 'a b&c', state: null }),
    'https://a.example/cb?x=1&code=a+b%26c',
  )
  assert.equal(sourceOf('https://a.example:8/cb'), 'https://a.example:8')
  assert.equal(sourceOf('cursor://anysphere/oauth'), 'cursor:')
})
