import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import type { MailServer } from '../../../server/config.ts'
import { Mailer } from '../../../server/mail/mailer.ts'
import { mailServer, oddMailServer, readMail } from '../../kit/mail-server.ts'

const at = (port: number): MailServer => ({
  host: '127.0.0.1',
  port,
  secure: false,
  user: '',
  password: '',
  from: 'Engine <engine@example.org>',
})
const mail = { to: 'ada@example.org', subject: 'Sübject', text: `a line\n${'x'.repeat(200)} häh\n` }

const gone = (socket: Socket): Promise<void> =>
  new Promise(resolve => (socket.destroyed ? resolve() : socket.once('close', () => resolve())))

test('a mail arrives as it was written', async t => {
  const { port, mails } = await mailServer(t)
  await new Mailer(at(port)).send(mail)
  const { headers, body } = readMail(mails[0]!)
  assert.match(headers, /^To: ada@example\.org\r?$/m)
  assert.match(headers, /^From: Engine <engine@example\.org>\r?$/m)
  assert.equal(body.replaceAll('\r\n', '\n').trimEnd(), mail.text.trimEnd())
})

test('a server that rejects is told by its number, and nothing of what it says', async t => {
  const { port } = await mailServer(t)
  const sent = new Mailer(at(port)).send({ ...mail, to: 'refused@example.org' })
  await assert.rejects(
    sent,
    (error: Error) => /answered 550$/.test(error.message) && !/no such box/.test(error.message),
  )
})

test('a server that nobody runs is told', async t => {
  const { port } = await oddMailServer(t, socket => socket.destroy())
  await assert.rejects(new Mailer(at(port)).send(mail), /the mail server cannot be used/)
})

test('a server that says nothing is left', async t => {
  const { port, sockets } = await oddMailServer(t, () => {})
  const mailer = new Mailer(at(port))
  await assert.rejects(mailer.send(mail), /the mail server cannot be used/)
  for (const socket of sockets) await gone(socket)
  assert.equal(mailer.underWay, 0)
})

test('a server that sends a line now and then is left when the time for a mail is over, and so is its connection', async t => {
  const { port, connection } = await oddMailServer(t, socket => {
    const dribble = setInterval(() => socket.write('220-wait\r\n'), 20)
    socket.on('close', () => clearInterval(dribble))
  })
  const opened = connection()
  await assert.rejects(new Mailer(at(port), 300).send(mail), /took more than 0\.3 s/)
  await gone(await opened)
})

test('a mailer that closes ends what is under way, and sends no more', async t => {
  const { port, connection } = await oddMailServer(t, socket => {
    const dribble = setInterval(() => socket.write('220-wait\r\n'), 20)
    socket.on('close', () => clearInterval(dribble))
  })
  const mailer = new Mailer(at(port))
  const opened = connection()
  const sent = assert.rejects(mailer.send(mail), /the engine stops/)
  await opened
  await mailer.close()
  await sent
  assert.equal(mailer.underWay, 0)
  await assert.rejects(mailer.send(mail), /the engine stops/)
})

test('credentials go to no other machine without TLS', async t => {
  const { port } = await oddMailServer(t, socket => {
    socket.write('220 here\r\n')
    socket.on('data', line => {
      assert.doesNotMatch(String(line), /AUTH|MAIL/)
      socket.write(/^EHLO/.test(String(line)) ? '250-here\r\n250 AUTH PLAIN\r\n' : '502 no\r\n')
    })
  })
  // A name that says nothing of being this machine.
  const server = { ...at(port), host: 'localhost.', user: 'ada', password: 'secret' }
  await assert.rejects(new Mailer(server).send(mail), /the mail server/)
})
