/**
 * Sends what the `cpu` plugin of Telegraf sends: InfluxDB line protocol over TCP, at an even rate. When the engine does not read, it waits;
 * what came late by then is sent at once.
 *
 *     node docs/examples/metrics/send.ts [tcp://127.0.0.1:8094] [lines a second, 50000] [seconds, 10]
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const HOSTS = 100
const TICK_MS = 10

/** The n-th line. */
export function lineOf(n: number): string {
  const host = n % HOSTS
  const user = 20 + ((n * 7 + host) % 60)
  const system = 1 + (n % 9)
  return `cpu,cpu=cpu-total,host=host${host} usage_user=${user}.25,usage_system=${system}.5 ${1_700_000_000_000_000_000n + BigInt(n) * 20_000n}\n`
}

export interface Sending {
  lines: number
  /** From the first line to the last one that the system took. */
  seconds: number
}

/** `rate`: lines a second. */
export async function send(address: string, rate: number, lines: number): Promise<Sending> {
  const { hostname, port } = new URL(address.replace(/^tcp:/, 'http:'))
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const began_ms = performance.now()
  for (let sent = 0; sent < lines; ) {
    const due = Math.min(lines, Math.ceil(((performance.now() - began_ms) * rate) / 1000))
    let text = ''
    for (; sent < due; sent++) text += lineOf(sent)
    if (text !== '' && !socket.write(text)) await once(socket, 'drain')
    else await sleep(TICK_MS)
  }
  const seconds = (performance.now() - began_ms) / 1000
  socket.end()
  await once(socket, 'close')
  return { lines, seconds }
}

if (import.meta.main) {
  const [address = 'tcp://127.0.0.1:8094', rate = '50000', seconds = '10'] = process.argv.slice(2)
  const sent = await send(address, Number(rate), Number(rate) * Number(seconds))
  console.log(`${sent.lines} lines in ${sent.seconds.toFixed(2)} s: ${Math.round(sent.lines / sent.seconds)} a second`)
}
