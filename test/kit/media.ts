import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

/** For the options of a test that needs ffmpeg: why it cannot run here, or false. */
export const skip = existsSync('/usr/bin/ffmpeg') ? false : 'needs ffmpeg, which is not installed'
export const speechSkip = skip || (existsSync('/usr/bin/espeak-ng') ? false : 'needs espeak-ng, which is not installed')

interface Ending {
  after(end: () => void): void
}

/** What stands before the picture of a JPEG; nothing decodes it. */
export function jpegOf(width: number, height: number, { tables = true, thumbnail = false, bytes = 0 } = {}): Buffer {
  const segment = (marker: number, content: Buffer): Buffer => {
    const head = Buffer.from([0xff, marker, 0, 0])
    head.writeUInt16BE(content.length + 2, 2)
    return Buffer.concat([head, content])
  }
  const size = Buffer.from([8, 0, 0, 0, 0, 1, 1, 0x11, 0])
  size.writeUInt16BE(height, 1)
  size.writeUInt16BE(width, 3)
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    ...(thumbnail ? [segment(0xe1, jpegOf(1, 1))] : []),
    ...(tables ? [segment(0xc4, Buffer.alloc(20))] : []),
    segment(0xc0, size),
    segment(0xda, Buffer.alloc(6)),
    Buffer.alloc(bytes, 0x55),
    Buffer.from([0xff, 0xd9]),
  ])
}

/** As ffmpeg's mpjpeg writes a frame. */
export const mpjpegOf = (frame: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`--frame\r\nContent-type: image/jpeg\r\nContent-length: ${frame.length}\r\n\r\n`),
    frame,
    Buffer.from('\r\n'),
  ])

/** A script in place of ffmpeg. */
export function fakeFfmpeg(folder: string, script: string): { path: string; programs: () => Promise<Fake> } {
  const path = join(folder, 'ffmpeg')
  writeFileSync(path, `#!/bin/sh\ncd ${folder}\n${script}\n`)
  chmodSync(path, 0o755)
  return { path, programs: async () => ({ ffmpeg: path, setpriv: '/usr/bin/setpriv' }) }
}

interface Fake {
  readonly ffmpeg: string
  readonly setpriv: string
}

/** A video of ffmpeg's test picture, two seconds long. */
export function videoIn(folder: string): string {
  const path = join(folder, 'test.mp4')
  const words = [
    '-nostdin',
    '-loglevel',
    'error',
    '-f',
    'lavfi',
    '-i',
    'testsrc2=size=320x180:rate=25',
    '-t',
    '2',
    path,
  ]
  spawnSync('ffmpeg', words)
  return path
}

/** JPEGs that differ, of ffmpeg's test picture. */
export function pictures(count: number): Buffer[] {
  const words = ['-nostdin', '-loglevel', 'error', '-f', 'lavfi', '-i', 'testsrc2=size=160x90:rate=25', '-frames:v']
  const { stdout } = spawnSync('ffmpeg', [...words, String(count), '-f', 'mpjpeg', '-boundary_tag', 'frame', 'pipe:1'])
  const found: Buffer[] = []
  for (let at = 0; ; ) {
    const head = stdout.indexOf('\r\n\r\n', at)
    if (head < 0) return found
    const length = Number(/Content-length: (\d+)/.exec(stdout.toString('latin1', at, head))![1])
    found.push(stdout.subarray(head + 4, head + 4 + length))
    at = head + 4 + length
  }
}

export interface HttpCamera {
  readonly url: string
  /** Requests so far. */
  readonly asked: readonly string[]
  /** Of those that are open. */
  watching(): number
  /** Nobody is answered, and whoever watches is cut off. */
  leave(): Promise<void>
  comeBack(): Promise<void>
}

/** A camera that sends MJPEG over HTTP, 25 frames a second. */
export async function httpCamera(t: Ending, frames: readonly Buffer[]): Promise<HttpCamera> {
  const asked: string[] = []
  const open = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    asked.push(`${request.url} ${request.headers.authorization ?? ''}`.trim())
    response.writeHead(200, { 'content-type': 'multipart/x-mixed-replace; boundary=frame' })
    open.add(response)
    response.on('close', () => open.delete(response))
  })
  let at = 0
  const timer = setInterval(() => {
    const frame = mpjpegOf(frames[at++ % frames.length]!)
    for (const response of open) response.write(frame)
  }, 40)
  const listen = (port: number): Promise<void> => new Promise(resolve => server.listen(port, '127.0.0.1', resolve))
  await listen(0)
  const { port } = server.address() as AddressInfo
  const leave = async (): Promise<void> => {
    const closed = new Promise<void>(resolve => server.close(() => resolve()))
    server.closeAllConnections()
    await closed
  }
  t.after(() => {
    clearInterval(timer)
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${port}/camera`,
    asked,
    watching: () => open.size,
    leave,
    comeBack: () => listen(port),
  }
}
