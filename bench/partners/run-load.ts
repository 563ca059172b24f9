/**
 * The load of `runs`: so many connections that each create a run, wait for its acknowledgement, and create the next.
 *   pass(RunLoad) -> {seconds, acknowledged_seconds}     until the last run has ended, and until the last was acknowledged
 */
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { answer } from '../partner.ts'

export interface RunLoad {
  url: string
  token: string
  flow: string
  runs: number
  connections: number
}

const POLL_MS = 10

answer({
  async pass({ url, token, flow, runs, connections }: RunLoad) {
    const agent = new Agent({ keepAlive: true, maxSockets: connections })
    const ask = (method: string, path: string, body: string | null): Promise<{ status: number; text: string }> =>
      new Promise((resolve, reject) => {
        const headers: Record<string, string | number> = { authorization: `Bearer ${token}` }
        if (body !== null) headers['content-length'] = Buffer.byteLength(body)
        const asked = request(url + path, { agent, method, headers }, answered => {
          let text = ''
          answered.setEncoding('utf8').on('data', chunk => (text += chunk))
          answered.on('end', () => resolve({ status: answered.statusCode!, text }))
        })
        asked.on('error', reject)
        asked.end(body ?? undefined)
      })
    const ended = async (): Promise<number> =>
      (JSON.parse((await ask('GET', `/runs?flow=${flow}&status=succeeded&limit=1`, null)).text) as { count: number })
        .count
    const before = await ended()
    let next = 0
    const began_ms = performance.now()
    await Promise.all(
      Array.from({ length: connections }, async () => {
        while (next < runs) {
          const { status, text } = await ask('POST', `/runs/flows/${flow}`, `{"inputs":{"x":${next++}}}`)
          if (status !== 201) throw new RangeError(`a run was refused: ${text}`)
        }
      }),
    )
    const acknowledged_ms = performance.now()
    while ((await ended()) < before + runs) await sleep(POLL_MS)
    const ended_ms = performance.now()
    agent.destroy()
    return { seconds: (ended_ms - began_ms) / 1000, acknowledged_seconds: (acknowledged_ms - began_ms) / 1000 }
  },
})
