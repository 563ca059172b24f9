/**
 * The load of `live-latency`: one socket that sends at a steady rate and another that receives, each in a thread of its own,
 * together in a process apart from the one under load. A value is the moment it was sent, so the receiver knows its latency.
 *   pass(SocketLoad) -> SocketLatency
 */
import { once } from 'node:events'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { build } from 'hdr-histogram-js'
import { WebSocket } from 'ws'
import { answer } from '../../partner.ts'

export interface SocketEnd {
  url: string
  protocols?: string[]
  headers?: Record<string, string>
  /** Sent once, after the socket has opened. */
  first?: string
}
export interface SocketLoad {
  publisher: SocketEnd
  subscriber: SocketEnd
  /** Frame texts around the number. */
  before: string
  after: string
  rate_per_s: number
  seconds: number
}
export interface SocketLatency {
  p50_ms: number
  p99_ms: number
  p99_9_ms: number
  sent: number
  received: number
}

/** How long the receiver waits for what is still on its way when the sender has ended. */
const TAIL_MS = 3_000
/** The sender sleeps this long between looks at the clock: a fifth of a gap between two sends at 10,000/s. */
const NAP_MS = 0.02
const VALUE = /"value":([\d.]+)/

const now_us = (): number => Number(process.hrtime.bigint()) / 1000

async function open(end: SocketEnd): Promise<WebSocket> {
  const options = { headers: end.headers ?? {}, perMessageDeflate: false, skipUTF8Validation: true }
  const socket = new WebSocket(end.url, end.protocols ?? [], options)
  await once(socket, 'open')
  socket.on('error', () => {})
  if (end.first !== undefined) socket.send(end.first)
  return socket
}

if (isMainThread) {
  answer({
    async pass(load: SocketLoad): Promise<SocketLatency> {
      const histogram = build({
        lowestDiscernibleValue: 1,
        highestTrackableValue: 120_000_000,
        numberOfSignificantValueDigits: 3,
      })
      const total = load.rate_per_s * load.seconds
      const subscriber = await open(load.subscriber)
      let received = 0
      const complete = Promise.withResolvers<void>()
      subscriber.on('message', data => {
        const at_us = now_us()
        const found = VALUE.exec(String(data))
        if (found === null) return
        histogram.recordValue(Math.max(1, Math.round(at_us - Number(found[1]))))
        if (++received === total) complete.resolve()
      })
      const sender = new Worker(import.meta.filename, { workerData: load })
      await once(sender, 'message')
      const tail = setTimeout(complete.resolve, TAIL_MS)
      await complete.promise
      clearTimeout(tail)
      subscriber.terminate()
      await sender.terminate()
      const at = (percentile: number): number => histogram.getValueAtPercentile(percentile) / 1000
      return { p50_ms: at(50), p99_ms: at(99), p99_9_ms: at(99.9), sent: total, received }
    },
  })
} else {
  const load = workerData as SocketLoad
  const nap = new Int32Array(new SharedArrayBuffer(4))
  const socket = await open(load.publisher)
  socket.on('message', () => {})
  // The subscription of the other socket has the time to arrive first.
  await new Promise(resolve => setTimeout(resolve, 300))
  const total = load.rate_per_s * load.seconds
  const began_us = now_us()
  let sent = 0
  const turn = (): void => {
    const due = Math.min(total, Math.floor(((now_us() - began_us) * load.rate_per_s) / 1e6))
    while (sent < due) {
      sent++
      socket.send(`${load.before}${now_us().toFixed(3)}${load.after}`)
    }
    if (sent === total) return parentPort!.postMessage('sent')
    Atomics.wait(nap, 0, 0, NAP_MS)
    setImmediate(turn)
  }
  turn()
}
