import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import type { TextSocketHandlers } from '../../server/http/socket.ts'
import { launched, skip } from '../kit/chromium.ts'
import { ADA, type ServedFront, serveFront } from '../kit/served-front.ts'

/** Says the name of whoever opens it. */
const names: TextSocketHandlers = {
  path: '/ws/flows',
  who: 'read',
  frames: 'text',
  open: socket => void socket.send((socket.caller as { name: string }).name),
  message: () => {},
  drain: () => {},
  close: () => {},
}
let served: ServedFront
let context: BrowserContext
beforeEach(async () => {
  if (skip !== false) return
  served = await serveFront({ sockets: [names] })
  context = await (await launched()).newContext({ bypassCSP: true })
})
afterEach(async () => {
  await context?.close()
  served?.close()
})

interface Asked {
  readonly url: string
  readonly method: string
  readonly type: string | null
  readonly body: string | null
}

/** Runs in a page: a request, told by its status. */
const ask = async ({ url, method, type, body }: Asked): Promise<string> => {
  try {
    const headers: Record<string, string> = type === null ? {} : { 'content-type': type }
    const answer = await fetch(url, { method, headers, credentials: 'include', ...(body === null ? {} : { body }) })
    return String(answer.status)
  } catch {
    return 'no answer'
  }
}
const asks = (page: Page, method: string, url: string, type: string | null = null, body: string | null = null) =>
  page.evaluate(ask, { url, method, type, body })

/** Runs in a page: the first word of a websocket, or that it did not open. */
const listen = (url: string): Promise<string> =>
  new Promise(resolve => {
    const socket = new WebSocket(url, ['svc.v1'])
    socket.onmessage = ({ data }) => resolve(String(data))
    socket.onclose = () => resolve('closed')
  })

test('a page signs in with a cookie that it cannot read, uses routes and a websocket with it, and signs out', {
  skip,
}, async () => {
  const page = await context.newPage()
  await page.goto(`${served.url}/docs`)
  const credentials = JSON.stringify({ username: ADA.name, password: ADA.password })
  assert.equal(await asks(page, 'GET', '/users/me'), '401')
  assert.equal(await asks(page, 'POST', '/login/session', 'application/json', credentials), '200')
  const [cookie] = await context.cookies()
  assert.partialDeepStrictEqual(cookie, { name: served.session.name, path: '/', httpOnly: true, sameSite: 'Strict' })
  assert.equal(await page.evaluate('document.cookie'), '')
  assert.equal(await asks(page, 'GET', '/users/me'), '200')
  const change = JSON.stringify({ display_name: 'Ada' })
  assert.equal(await asks(page, 'PATCH', '/users/me', 'application/json', change), '200')
  assert.equal(await page.evaluate(listen, `ws://127.0.0.1:${served.port}/ws/flows`), ADA.name)
  assert.equal(await asks(page, 'POST', '/logout'), '204')
  assert.deepEqual(await context.cookies(), [])
  assert.equal(await asks(page, 'GET', '/users/me'), '401')
})

test('a page of another port, to which the browser sends the cookie as well, changes and hears nothing', {
  skip,
}, async () => {
  const page = await context.newPage()
  await page.goto(`${served.url}/docs`)
  const credentials = JSON.stringify({ username: ADA.name, password: ADA.password })
  await asks(page, 'POST', '/login/session', 'application/json', credentials)
  const other = createServer((_request, answer) => answer.setHeader('content-type', 'text/html').end('<p>other</p>'))
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  try {
    await page.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`)
    // Simple requests, which a browser sends without asking first.
    const logout = await asks(page, 'POST', `${served.url}/logout`)
    const form = await asks(page, 'POST', `${served.url}/messages/`, 'text/plain', '{"name":"a.b","value":1}')
    assert.deepEqual([logout, form], ['no answer', 'no answer'])
    assert.equal(await asks(page, 'GET', `${served.url}/users/me`), 'no answer')
    assert.equal(await page.evaluate(listen, `ws://127.0.0.1:${served.port}/ws/flows`), 'closed')
  } finally {
    other.close()
  }
  assert.deepEqual(
    served.audited.map(({ action }) => action),
    ['sign_in'],
  )
  await page.goto(`${served.url}/docs`)
  assert.equal(await asks(page, 'GET', '/users/me'), '200')
})
