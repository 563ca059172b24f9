/**
 * The sensors of the example: replays three recorded series to a broker, each reading as JSON to `plant/<sensor>/reading`.
 *
 *     node docs/examples/sensors/publish.ts [mqtt://127.0.0.1:1883] [readings a second of each sensor, 20]
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import mqtt from 'mqtt'

const SERIES = {
  ambient: 'ambient_temperature_system_failure.csv',
  machine: 'machine_temperature_system_failure.csv',
  cpu: 'cpu_utilization_asg_misconfiguration.csv',
}

export interface Sent {
  topic: string
  reading: { timestamp: string; value: number }
}

/** All readings in the order in which they are sent: one of each sensor after the other. */
export function readings(): Sent[] {
  const series = Object.entries(SERIES).map(([sensor, file]) =>
    readFileSync(join(import.meta.dirname, 'data', file), 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .map(line => {
        const [timestamp, value] = line.split(',') as [string, string]
        return { topic: `plant/${sensor}/reading`, reading: { timestamp, value: Number(value) } }
      }),
  )
  const longest = Math.max(...series.map(({ length }) => length))
  return Array.from({ length: longest }, (_, at) => series.flatMap(sent => sent[at] ?? [])).flat()
}

/** Resolves when the broker has acknowledged all of them. `rate`: of each sensor, a second; 0 is as fast as the broker takes them. */
export async function publish(url: string, rate: number): Promise<number> {
  const client = await mqtt.connectAsync(url)
  const all = readings()
  const began_ms = performance.now()
  const sensors = Object.keys(SERIES).length
  for (let at = 0; at < all.length; at += sensors) {
    const round = all.slice(at, at + sensors)
    await Promise.all(
      round.map(({ topic, reading }) => client.publishAsync(topic, JSON.stringify(reading), { qos: 1 })),
    )
    const early_ms = rate === 0 ? 0 : began_ms + ((at / sensors + 1) * 1000) / rate - performance.now()
    if (early_ms > 0) await sleep(early_ms)
  }
  await client.endAsync()
  return all.length
}

if (import.meta.main) {
  const [url = 'mqtt://127.0.0.1:1883', rate = '20'] = process.argv.slice(2)
  console.log(`${await publish(url, Number(rate))} readings were sent`)
}
