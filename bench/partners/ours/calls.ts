/**
 * Calls and claims, one after the other, in a process of their own:
 *   open()                      one call slot of the engine's, one piscina thread beside it
 *   call({times})               -> {p50_us}   a body of nothing through `CallDesk`, as a batch run sends it
 *   bareTask({times})           -> {p50_us}   the same options, a task of nothing
 *   claim({times})              -> {p50_us}   claim and release of one core in the books, nobody else about
 *   compareAndSet({times})      -> {p50_us}   two compare-and-sets on one word
 *   close()
 * What takes less than a look at the clock is measured in groups.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Books, newClaim } from '../../../core/books/books.ts'
import { compilePlan, type PlanNode } from '../../../core/flow/plan.ts'
import { Wiring } from '../../../core/flow/wiring.ts'
import { MASK_TABLE_BYTES } from '../../../core/masks/table.ts'
import { createMemory, productionSizes } from '../../../core/memory/region.ts'
import { SLOT, THREAD_KIND, ThreadTable } from '../../../core/memory/threads.ts'
import type { NormalDocument } from '../../../protocol/nouns/flow-document.ts'
import { liveBounds } from '../../../server/calls/bounds.ts'
import { CallDesk } from '../../../server/calls/call-desk.ts'
import { ThreadPool } from '../../../threads/pool.ts'
import { median } from '../../kit.ts'
import { answer } from '../../partner.ts'

const DIGEST = 'a'.repeat(64)
const GROUP = 100

interface Opened {
  desk: CallDesk
  pool: ThreadPool
  node: PlanNode
}
const opened: { parts: Opened | null } = { parts: null }

answer({
  async open() {
    const folder = mkdtempSync(join(tmpdir(), 'bench-calls-'))
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
    writeFileSync(join(folder, `${DIGEST}.mjs`), 'export default ({ x }) => ({ x })')
    const desk = new CallDesk({
      slots: 1,
      bodies: folder,
      artifacts: { folder, max_bytes: 0 },
      bounds: liveBounds,
      operator: {},
      body_user: null,
      exchange: null,
      failed: () => {},
      environment: () => ({}),
      secret: () => null,
      masks: new SharedArrayBuffer(MASK_TABLE_BYTES),
      now_us: () => Date.now() * 1000,
      onLost: () => {},
    })
    const pool = new ThreadPool({
      module: new URL('../floors/bare-task.ts', import.meta.url),
      threads: 1,
      heap_mb: liveBounds.call_heap_mb,
    })
    opened.parts = { desk, pool, node: nodeOf() }
    return {}
  },

  async call({ times }: { times: number }) {
    const { desk, node } = opened.parts!
    const request = { flow: 'bench', run: { id: 'r' }, node, inputs: { x: 1 }, grant: null }
    const once = (): Promise<void> =>
      new Promise((resolve, reject) => {
        desk.run(
          request,
          {},
          {
            emitted: (_, processed) => processed(),
            note: () => {},
            metrics: () => {},
            lines: () => {},
            artifact: () => {},
            ended: ({ type }) => (type === 'returned' ? resolve() : reject(new RangeError('the body failed'))),
          },
        )
      })
    return { p50_us: await p50(once, times) }
  },

  async bareTask({ times }: { times: number }) {
    return { p50_us: await p50(() => opened.parts!.pool.run({ x: 1 }), times) }
  },

  async claim({ times }: { times: number }) {
    const memory = createMemory(productionSizes)
    const owner = new ThreadTable(memory).enter(SLOT.front, THREAD_KIND.front)
    const books = new Books(memory, owner)
    books.addMachine(8000, 0, 0, 1024 * 1024, 0)
    const ask = { cpus: 1000, cards: 0, ram_kib: 0 }
    const claim = newClaim()
    return {
      p50_us: grouped(() => {
        if (!books.claim(ask, 1, claim)) throw new RangeError('the books are full')
        books.release(claim.ticket, 2)
      }, times),
    }
  },

  async compareAndSet({ times }: { times: number }) {
    const word = new Int32Array(new SharedArrayBuffer(4))
    return {
      p50_us: grouped(() => {
        Atomics.compareExchange(word, 0, 0, 1)
        Atomics.compareExchange(word, 0, 1, 0)
      }, times),
    }
  },

  async close() {
    await opened.parts!.desk.close()
    await opened.parts!.pool.end()
    return {}
  },
})

async function p50(once: () => Promise<unknown>, times: number): Promise<number> {
  const taken_us: number[] = []
  for (let at = 0; at < times; at++) {
    const began_ms = performance.now()
    await once()
    taken_us.push((performance.now() - began_ms) * 1000)
  }
  return median(taken_us)
}

function grouped(once: () => void, times: number): number {
  const taken_us: number[] = []
  for (let group = 0; group < times / GROUP; group++) {
    const began_ms = performance.now()
    for (let at = 0; at < GROUP; at++) once()
    taken_us.push(((performance.now() - began_ms) * 1000) / GROUP)
  }
  return median(taken_us)
}

function nodeOf(): PlanNode {
  const document: NormalDocument = {
    inputs: [],
    nodes: [
      {
        id: 'body',
        type: 'code',
        language: 'js',
        source: '',
        settings: {},
        ports: {
          inputs: [{ name: 'x', dtype: 'float', message: 'x', trigger: true }],
          outputs: [{ name: 'x', dtype: 'float', message: 'y', rate_hz: null }],
        },
        resources: { cpus: null, gpus: null, ram: null, env: {}, flavor: null },
        duration_s: null,
        timeout: null,
        cache: true,
        device: null,
        isolation: null,
        position: { x: 0, y: 0 },
      },
    ],
  }
  const names = new Map<string, number>()
  const index = (name: string): number => names.get(name) ?? names.set(name, names.size).size - 1
  const wiring = new Wiring()
  const plan = compilePlan({
    flow: 'bench',
    version: 1,
    enabled: true,
    document,
    indexer: { message: index, node: index, flow: index, wire: () => -1 },
    wiring,
    world: wiring,
    digest: () => DIGEST,
    hash: text => text,
  })
  return plan.nodes[0]!
}
