import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'

interface Ending {
  after(end: () => Promise<void>): void
}

/** Takes mails as a real server does; a recipient of `refused@` is rejected. */
export async function mailServer(t: Ending): Promise<{ port: number; mails: string[]; next(): Promise<string> }> {
  const mails: string[] = []
  const waiting: ((mail: string) => void)[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: ({ address }, _session, done) =>
      done(address.startsWith('refused@') ? Object.assign(new Error('no such box'), { responseCode: 550 }) : null),
    onData: (stream, _session, done) => {
      text(stream).then(mail => {
        mails.push(mail)
        waiting.shift()?.(mail)
        done()
      }, done)
    },
  })
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  t.after(() => new Promise(resolve => server.close(() => resolve())))
  const next = (): Promise<string> => new Promise(resolve => waiting.push(resolve))
  return { port: (server.server.address() as AddressInfo).port, mails, next }
}

/** Takes connections and does with them what `treat` says. */
export async function oddMailServer(t: Ending, treat: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const opened: ((socket: Socket) => void)[] = []
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    treat(socket)
    opened.shift()?.(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const connection = (): Promise<Socket> => new Promise(resolve => opened.push(resolve))
  return { port: (server.address() as AddressInfo).port, sockets, connection }
}

/** The text of a mail without attachments, as a reader shows it. */
export function readMail(mail: string): { headers: string; body: string } {
  const end = mail.indexOf('\r\n\r\n')
  const headers = mail.slice(0, end)
  const raw = mail.slice(end + 4)
  if (!/quoted-printable/i.test(headers)) return { headers, body: raw }
  const bytes = raw
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return { headers, body: Buffer.from(bytes, 'latin1').toString('utf8') }
}
