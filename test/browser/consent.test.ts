import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { launched, skip } from '../kit/chromium.ts'
import { ADA, serveFront } from '../kit/served-front.ts'

test('a user lets an agent in on a page without scripts, and is led back to the agent', { skip }, async t => {
  const served = await serveFront()
  t.after(() => served.close())
  const arrived = Promise.withResolvers<URL>()
  const agent = createServer((request, answer) => {
    arrived.resolve(new URL(request.url!, 'http://127.0.0.1'))
    answer.end('done')
  })
  await new Promise<void>(resolve => agent.listen(0, '127.0.0.1', resolve))
  t.after(() => agent.close())
  const redirect_uri = `http://127.0.0.1:${(agent.address() as AddressInfo).port}/callback`
  const { client_id } = served.registrations.register({
    client_name: '<img src=x onerror=alert(1)> agent',
    redirect_uris: [redirect_uri],
  })
  const code_challenge = createHash('sha256').update('v'.repeat(64)).digest('base64url')
  const query = new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri,
    code_challenge,
    code_challenge_method: 'S256',
    state: 'st',
    scope: 'read run',
  })

  const context = await (await launched()).newContext({ javaScriptEnabled: false })
  t.after(() => context.close())
  const page = await context.newPage()
  const refused: string[] = []
  page.on('console', message => refused.push(message.text()))
  await page.goto(`${served.url}/oauth/authorize?${query}`)
  assert.match((await page.textContent('h1')) ?? '', /<img src=x onerror=alert\(1\)> agent/)
  assert.equal(await page.locator('img, script').count(), 0)
  if (process.env['SHOT'] !== undefined) await page.screenshot({ path: process.env['SHOT'] })
  await page.fill('input[name=username]', ADA.name)
  await page.fill('input[name=password]', 'not the password')
  await page.click('button.yes')
  assert.match((await page.textContent('.wrong')) ?? '', /Wrong user name or password/)
  assert.equal(await page.inputValue('input[name=username]'), ADA.name)
  await page.uncheck('input[name=scope_run]')
  await page.fill('input[name=password]', ADA.password)
  await page.click('button.yes')
  const { pathname, searchParams } = await arrived.promise
  assert.deepEqual([pathname, searchParams.get('state')], ['/callback', 'st'])
  assert.ok(searchParams.get('code'))
  assert.deepEqual(served.clients.find(client_id)?.scopes, ['read'])
  assert.deepEqual(
    refused.filter(text => /Content Security Policy/.test(text)),
    [],
  )
})
