import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { endedWithUs } from './orphans.ts'

interface Ending {
  after(end: () => void): void
}

export interface RtspServer {
  readonly url: string
  /** No packet comes any more, and connections stay open. */
  freeze(): void
  thaw(): void
}

const H264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-tune', 'zerolatency', '-g', '10', '-pix_fmt', 'yuv420p']
/** What one reader may be behind. */
const BEHIND_BYTES = 1_000_000

/** A camera over RTSP (RFC 2326), TCP only: ffmpeg makes RTP packets, and this hands them on, interleaved. `folder` is the test's own. */
export async function rtspServer(t: Ending, folder: string, input: readonly string[]): Promise<RtspServer> {
  const udp = createSocket('udp4')
  udp.bind(0, '127.0.0.1')
  await once(udp, 'listening')
  const described = join(folder, 'camera.sdp')
  const source = spawn(
    'ffmpeg',
    [
      ...['-nostdin', '-hide_banner', '-loglevel', 'error', '-re', ...input, '-an', ...H264],
      ...['-f', 'rtp', '-sdp_file', described, `rtp://127.0.0.1:${udp.address().port}?pkt_size=1400`],
    ],
    { stdio: 'ignore' },
  )
  endedWithUs(source)
  const playing = new Set<Socket>()
  udp.on('message', packet => {
    const head = Buffer.from([0x24, 0, packet.length >> 8, packet.length & 255])
    for (const socket of playing) {
      if (socket.writableLength > BEHIND_BYTES) continue
      socket.write(head)
      socket.write(packet)
    }
  })
  const sdp = await description(described)
  const server = createServer(socket => {
    let text = ''
    socket.on('error', () => {})
    socket.on('close', () => playing.delete(socket))
    socket.on('data', data => {
      text += data.toString('latin1')
      for (let request = nextRequest(); request !== null; request = nextRequest()) answer(socket, request)
    })
    function nextRequest(): string | null {
      // What a reader reports about its packets comes between the requests.
      while (text.startsWith('$') && text.length >= 4) {
        const length = 4 + ((text.charCodeAt(2) << 8) | text.charCodeAt(3))
        if (text.length < length) return null
        text = text.slice(length)
      }
      const end = text.indexOf('\r\n\r\n')
      if (text.startsWith('$') || end < 0) return null
      const request = text.slice(0, end)
      text = text.slice(end + 4)
      return request
    }
  })
  const answer = (socket: Socket, request: string): void => {
    const [method, url] = request.split(' ')
    const sequence = `CSeq: ${/CSeq: *(\d+)/i.exec(request)?.[1] ?? 0}`
    const reply = (fields: string[], body = ''): void => {
      const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
      socket.write([`RTSP/1.0 200 OK`, sequence, ...fields, ...length, '', body].join('\r\n'))
    }
    switch (method) {
      case 'OPTIONS':
        return reply(['Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN, GET_PARAMETER'])
      case 'DESCRIBE':
        return reply(['Content-Type: application/sdp', `Content-Base: ${url}/`], sdp)
      case 'SETUP':
        if (request.includes('interleaved'))
          return reply(['Transport: RTP/AVP/TCP;unicast;interleaved=0-1', 'Session: 1;timeout=60'])
        socket.write(`RTSP/1.0 461 Unsupported Transport\r\n${sequence}\r\n\r\n`)
        return
      case 'PLAY':
        reply(['Session: 1', 'Range: npt=0-'])
        playing.add(socket)
        return
      default:
        reply(['Session: 1'])
        if (method === 'TEARDOWN') socket.end()
    }
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    end(source)
    server.close()
    for (const socket of playing) socket.destroy()
    udp.close()
  })
  const { port } = server.address() as { port: number }
  return {
    url: `rtsp://127.0.0.1:${port}/camera`,
    freeze: () => void source.kill('SIGSTOP'),
    thaw: () => void source.kill('SIGCONT'),
  }
}

/** What ffmpeg says about its stream, once it has. */
async function description(path: string): Promise<string> {
  const whole = (): boolean => existsSync(path) && /a=fmtp.*\r?\n/.test(readFileSync(path, 'utf8'))
  while (!whole()) await sleep(20)
  const text = readFileSync(path, 'utf8')
    .replace(/^SDP:\r?\n/, '')
    .replace(/m=video \d+/, 'm=video 0')
    .replace(/^c=.*$/m, 'c=IN IP4 0.0.0.0')
  return `${text.trimEnd()}\r\na=control:trackID=0\r\n`
}

function end(source: ChildProcess): void {
  source.kill('SIGKILL')
}
