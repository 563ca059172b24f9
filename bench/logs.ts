/**
 * The log of runs. `stored`: lines a second that four bodies write as fast as they can, from the start of the first run to the end of the last
 * one, by when all are committed. `while it works`: how much longer a body takes that works and writes 10,000 lines a second than the same
 * body without its lines; it is the time of the run over the time of the run without, so less is better.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Run } from '../protocol/nouns/run.ts'
import type { RunLogPage } from '../protocol/nouns/run-log.ts'
import { startOurs } from './engine.ts'
import { type Bench, compare, type Row, RUNS } from './kit.ts'
import { Partner } from './partner.ts'

const BODIES = 4
const LINES = 100_000
const BYTES = 80
/** Pieces of work of about 10 ms, and lines behind each. */
const PIECES = 150
const PIECE_LINES = 100
const WRITES = `export default ({ lines, bytes }, ctx) => {
  const text = 'l'.repeat(bytes)
  for (let at = 0; at < lines; at++) ctx.log(text)
}`
const WORKS = `const work = rounds => {
  let sum = 0
  for (let at = 0; at < rounds; at++) sum += Math.sqrt(at)
  return sum
}
let rounds = 1e6
while (true) {
  const from = performance.now()
  work(rounds)
  const ms = performance.now() - from
  if (ms > 8) {
    rounds = Math.round(rounds * 10 / ms)
    break
  }
  rounds *= 2
}
export default async ({ lines, bytes }) => {
  const text = 'l'.repeat(bytes)
  let sum = 0
  for (let piece = 0; piece < ${PIECES}; piece++) {
    sum += work(rounds)
    for (let at = 0; at < lines; at++) console.log(text)
  }
}`

const bench: Bench = {
  name: 'logs',
  shows: 'lines a second of the logs of runs, and what 10,000 lines a second cost the body that writes them',
  floor: 'the same lines appended to a file, synced every 50 ms',
  rival: 'a row for each line through better-sqlite3, synced transactions of 1,000',
  async run(): Promise<Row[]> {
    const others = await Partner.start(join(import.meta.dirname, 'partners', 'floors/stored-lines.ts'))
    const { partner, url, token } = await startOurs(1)
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const ask = async <Answer>(path: string, body?: unknown): Promise<Answer> => {
      const answer = await fetch(url + path, {
        headers,
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      })
      if (!answer.ok) throw new RangeError(`${path}: ${await answer.text()}`)
      return (await answer.json()) as Answer
    }
    for (const [name, source] of Object.entries({ writes: WRITES, works: WORKS })) {
      const port = (name: string) => ({ name, dtype: 'int' as const })
      const node = { id: 'body', type: 'code', source, cache: false, ports: { inputs: [port('lines'), port('bytes')] } }
      const inputs = ['lines', 'bytes'].map(message => ({ message, dtype: 'int' as const }))
      await partner.ask('save', { name, document: { inputs, nodes: [node] } })
    }
    const start = (flow: string, lines: number): Promise<Run> =>
      ask(`/runs/flows/${flow}`, { inputs: { lines, bytes: BYTES } })
    const ended = async ({ id }: Run): Promise<Run> => {
      for (;;) {
        const run = await ask<Run>(`/runs/${id}`)
        if (run.status === 'succeeded') return run
        if (run.status !== 'queued' && run.status !== 'running') throw new RangeError(`a run ended ${run.status}`)
        await sleep(50)
      }
    }
    const took = async (lines: number): Promise<number> => (await ended(await start('works', lines))).duration!
    const total = BODIES * LINES
    // Modules are loaded, and the piece of work is measured, once in each slot.
    await Promise.all(Array.from({ length: BODIES }, async () => ended(await start('writes', 1_000))))
    await took(PIECE_LINES)
    return compare({
      unit: { stored: 'lines/s', 'while it works': 'times' },
      runs: RUNS,
      floor: async () => ({
        stored: total / (await others.ask<{ seconds: number }>('file', { lines: total, bytes: BYTES })).seconds,
      }),
      ours: async () => {
        const runs = await Promise.all(Array.from({ length: BODIES }, async () => ended(await start('writes', LINES))))
        for (const { id } of runs) {
          const { items, dropped } = await ask<RunLogPage>(`/runs/${id}/logs?after=${LINES - 1}`)
          if (items.length !== 1 || dropped > 0) throw new RangeError(`run ${id} has lost lines`)
        }
        const from_ms = Math.min(...runs.map(run => Date.parse(run.started_at!)))
        const until_ms = Math.max(...runs.map(run => Date.parse(run.finished_at!)))
        const without = await took(0)
        return { stored: (total / (until_ms - from_ms)) * 1000, 'while it works': (await took(PIECE_LINES)) / without }
      },
      rival: async () => ({
        stored: total / (await others.ask<{ seconds: number }>('rows', { lines: total, bytes: BYTES })).seconds,
      }),
    })
  },
}
export default bench
