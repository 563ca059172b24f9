import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually, type LiveEngine, liveEngine } from '../kit/live-engine.ts'
import { mailServer, oddMailServer, readMail } from '../kit/mail-server.ts'

const PASSWORD = 'correct horse battery'
const PUBLIC_URL = 'https://engine.example'

async function ask(live: LiveEngine, method: string, path: string, body: object, token?: string) {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
  const answer = await fetch(live.url + path, { method, headers, body: JSON.stringify(body) })
  return { status: answer.status, text: await answer.text() }
}
const logOf = ({ data_dir }: LiveEngine): string => readFileSync(join(data_dir, 'serve.log'), 'utf8')
const resetsOf = ({ data_dir }: LiveEngine): string[] =>
  readdirSync(data_dir).filter(name => name.startsWith('reset-') && name.endsWith('.json'))

async function engineWith(t: TestContext, port: number, mail: string | null): Promise<LiveEngine> {
  const live = await liveEngine(t, {
    SMTP_URL: `smtp://127.0.0.1:${port}`,
    MAIL_FROM: 'engine@example.org',
    PUBLIC_URL,
  })
  const admin = readFileSync(join(live.data_dir, 'token'), 'utf8')
  const added = await ask(live, 'POST', '/users', { name: 'ada', password: PASSWORD, mail }, admin)
  assert.equal(added.status, 201)
  return live
}
const recover = (live: LiveEngine, username: string) => ask(live, 'POST', '/password-recovery', { username })
const reset = async (live: LiveEngine, token: string, password = 'another long password') =>
  (await ask(live, 'POST', '/password-reset', { token, password })).status

test('a link comes by mail, works once, and is in no log and no file', async t => {
  const server = await mailServer(t)
  const live = await engineWith(t, server.port, 'ada@example.org')
  const arrived = server.next()
  const known = await recover(live, 'ada')
  const { headers, body } = readMail(await arrived)
  assert.match(headers, /^To: ada@example\.org/m)
  const token = new RegExp(`^${PUBLIC_URL}/app/reset#token=(\\S+)\\r?$`, 'm').exec(body)![1]!
  assert.ok(body.includes(`svc --url ${PUBLIC_URL} users reset ${token}`))
  assert.deepEqual(await recover(live, 'nobody-of-that-name'), known)
  assert.deepEqual([await reset(live, token), await reset(live, token)], [204, 400])
  await eventually(() => logOf(live).includes('reset_sent'), 'the log tells of the mail')
  assert.ok(!logOf(live).includes(token.split('.')[2]!))
  assert.deepEqual([server.mails.length, resetsOf(live)], [1, []])
})

test('the answer waits for no mail server, and an engine that stops waits for none either', async t => {
  const { port, connection } = await oddMailServer(t, socket => {
    const dribble = setInterval(() => socket.write('220-wait\r\n'), 20)
    socket.on('close', () => clearInterval(dribble))
  })
  const live = await engineWith(t, port, 'ada@example.org')
  const opened = connection()
  const known = await recover(live, 'ada')
  assert.equal(known.status, 202)
  const socket = await opened
  const unknown = await recover(live, 'nobody-of-that-name')
  assert.deepEqual(known, unknown)
  // The mail is still under way.
  assert.equal(socket.destroyed, false)
  await live.close()
  await eventually(() => socket.destroyed, 'the connection ends with the engine')
})

test('a user without an address, and one whose mail is rejected, get a file for whoever runs the engine', async t => {
  const server = await mailServer(t)
  const live = await engineWith(t, server.port, 'refused@example.org')
  await recover(live, 'ada')
  await eventually(() => resetsOf(live).length === 1, 'the reset lies in a file')
  await eventually(() => /reset_not_sent.*answered 550/.test(logOf(live)), 'the log says why')
  await recover(live, 'admin')
  await eventually(() => resetsOf(live).length === 2, 'so does that of a user without an address')
  assert.deepEqual(server.mails, [])
})
