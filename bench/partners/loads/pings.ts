/**
 * Asks an address every millisecond, from a process of its own: a client that reads much is late by itself.
 *   begin({url})   begins
 *   end() -> {p99_ms, most_ms}   of all answers since then
 */
import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { answer } from '../../partner.ts'

let taken_ms: number[] = []
let isOver = true
let pinging: Promise<void> = Promise.resolve()

answer({
  begin({ url }: { url: string }): void {
    taken_ms = []
    isOver = false
    pinging = ping(url)
  },
  async end() {
    isOver = true
    await pinging
    taken_ms.sort((a, b) => a - b)
    return { p99_ms: taken_ms[Math.floor(taken_ms.length * 0.99)]!, most_ms: taken_ms.at(-1)! }
  },
})

async function ping(url: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  while (!isOver) {
    const began_ms = performance.now()
    await new Promise<void>((resolve, reject) => {
      get(url, { agent }, response => response.resume().on('end', resolve)).on('error', reject)
    })
    taken_ms.push(performance.now() - began_ms)
    await sleep(1)
  }
  agent.destroy()
}
