/**
 * Bare uWebSockets.js, floor and rival of `media`: every socket is on one topic, and a frame is one binary publish of the library, its header
 * packed and its bytes copied behind it.
 *   listen() -> {port}
 *   every({seconds, every_ms, bytes}) -> null      a frame each `every_ms`
 *   rss() -> bytes, cpu() -> seconds of the main thread
 *   all({seconds, bytes}) -> null                  frames as fast as the reading sockets take them: the first `reading` ones
 */

import { App, us_socket_local_port, type WebSocket } from 'uWebSockets.js'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { Packr } from 'msgpackr'
import { msgpackSettings } from '../../../protocol/values/msgpack-settings.ts'
import { answer } from '../../partner.ts'
import { mainThreadCpu } from '../main-thread-cpu.ts'

/** Of a reading socket: with more it is not written to. */
const BUFFERED_BYTES = 256 * 1024
const packr = new Packr(msgpackSettings)
const sockets: WebSocket<unknown>[] = []
const app = App()
let version = 0

function publish(bytes: Buffer): void {
  version++
  bytes.writeUInt32LE(version)
  const digest = `sha256:${version.toString(16).padStart(64, '0')}`
  const meta = { us: Number(process.hrtime.bigint()) / 1000 }
  const header = packr.pack({ name: 'bench.picture', version, digest, media_type: 'image/jpeg', meta })
  const frame = Buffer.allocUnsafe(4 + header.length + bytes.length)
  frame.writeUInt32BE(header.length)
  header.copy(frame, 4)
  bytes.copy(frame, 4 + header.length)
  app.publish('picture', frame, true)
  app.publish('picture', `{"type":"message_value","name":"bench.picture","version":${version},"value":"${digest}"}`)
}

answer({
  listen: () =>
    new Promise((resolve, reject) => {
      app.ws('/*', {
        maxBackpressure: 64 * 1024 * 1024,
        open: socket => void sockets.push(socket),
        message: socket => {
          socket.send('{}')
          socket.subscribe('picture')
        },
        close: socket => void sockets.splice(sockets.indexOf(socket), 1),
      })
      app.listen('127.0.0.1', 0, token => {
        if (token) resolve({ port: us_socket_local_port(token) })
        else reject(new RangeError('no port'))
      })
    }),
  rss: () => process.memoryUsage.rss(),
  cpu: () => mainThreadCpu(),
  async every({ seconds, every_ms, bytes }: { seconds: number; every_ms: number; bytes: number }) {
    const picture = Buffer.alloc(bytes, 7)
    for (let left = (seconds * 1000) / every_ms; left > 0; left--) {
      publish(picture)
      await sleep(every_ms)
    }
    return null
  },
  async all({ seconds, reading, bytes }: { seconds: number; reading: number; bytes: number }) {
    const picture = Buffer.alloc(bytes, 7)
    const until = performance.now() + seconds * 1000
    while (performance.now() < until) {
      if (sockets.slice(0, reading).every(socket => socket.getBufferedAmount() < BUFFERED_BYTES)) publish(picture)
      await turn()
    }
    return null
  },
})
