/**
 * Points made durable by the engine's own store: a thread writes value records into the journal ring of a lane, the store thread
 * drains it, packs columns and commits. Waiting for room is part of the time, and so is the last commit.
 *   pass({points}) -> {seconds}
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { JournalWriter } from '../../../core/memory/journal/writer.ts'
import { attachMemory, createMemory, productionSizes } from '../../../core/memory/region.ts'
import { SLOT, THREAD_KIND, ThreadTable } from '../../../core/memory/threads.ts'
import { limits } from '../../../protocol/limits.ts'
import { newEncoded } from '../../../protocol/values/codec.ts'
import { KIND } from '../../../protocol/values/encoded.ts'
import { Store } from '../../../server/store/front/client.ts'
import { journalWakes } from '../../../threads/journal-wakes.ts'
import { answer } from '../../partner.ts'
import { MESSAGES, temperatures } from '../measured-points.ts'

interface Burst {
  points: number
  /** Versions go on from burst to burst. */
  from: number
}

const POINTS_PER_TURN = limits.TURN_ITEMS
const RECORD_BYTES = 48

if (isMainThread) {
  const folder = mkdtempSync(join(tmpdir(), 'bench-journal-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const memory = createMemory(productionSizes)
  new ThreadTable(memory).enter(SLOT.front, THREAD_KIND.front)
  const { store } = await Store.start({ data_dir: folder, sab: memory.sab, log: text => process.stderr.write(text) })
  store.register({
    flows: [[0, 'bench']],
    messages: Array.from({ length: MESSAGES }, (_, message) => [message, `bench.m${message}`, 'float']),
    nodes: [],
  })
  const writer = new Worker(import.meta.filename, { workerData: memory.sab })
  let from = 0
  answer({
    async pass({ points }: { points: number }) {
      const written = new Promise(resolve => writer.once('message', resolve))
      const began_ms = performance.now()
      writer.postMessage({ points, from } satisfies Burst)
      await written
      // A control write is answered after a synced commit that holds everything marked before it.
      await store.putSetting('bench', String(from))
      from += points
      return { seconds: (performance.now() - began_ms) / 1000, dropped: store.health.dropped }
    },
  })
} else {
  const memory = attachMemory(workerData as SharedArrayBuffer)
  new ThreadTable(memory).enter(SLOT.lane, THREAD_KIND.lane)
  const journal = new JournalWriter(memory, SLOT.lane, journalWakes(memory))
  const value = newEncoded()
  value.kind = KIND.float
  value.length = 8
  const values = temperatures()
  parentPort!.on('message', ({ points, from }: Burst) => {
    const began_us = Date.now() * 1000
    for (let done = 0; done < points; ) {
      const turn = Math.min(POINTS_PER_TURN, points - done)
      journal.waitForRoom(turn * RECORD_BYTES, () => false)
      for (const end = done + turn; done < end; done++) {
        const point = from + done
        value.number = values[point % values.length]!
        journal.value(point % MESSAGES, Math.floor(point / MESSAGES) + 1, began_us + done, 0, value, 0)
      }
      journal.mark()
    }
    parentPort!.postMessage('written')
  })
}
