import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { createCodec } from '../../../protocol/values/codec.ts'
import type { StoreBounds } from '../../../server/store/file/bounds.ts'
import { databaseFile } from '../../../server/store/file/database.ts'
import { Store } from '../../../server/store/front/client.ts'
import { smallMemory } from '../../kit/memory.ts'
import { endedWithUs } from '../../kit/orphans.ts'
import { randomFrom, seed } from '../../kit/random.ts'
import { temporaryDirectory } from '../../kit/stored.ts'

const program = fileURLToPath(new URL('./killed-engine.ts', import.meta.url))
const rounds = process.env['LONG'] ? 200 : 4
const codec = createCodec()

/** Everything happens all the time: chunks at once, seals, joined chunks, checkpoints, compaction. */
const busy: Partial<StoreBounds> = {
  log_rows: 3,
  direct_points: 40,
  chunk_points: 64,
  join_chunks: 4,
  wal_bytes: 256 * 1024,
  compact_every_changes: 5,
}

interface Said {
  saved: number
  flushed: number
  marked: number
  /** ms since 1970. */
  killed_at: number
}

/** Runs until it is killed at a random moment after it said that it started; what it had said by then. */
function runAndKill(data_dir: string, bounds: Partial<StoreBounds>, after_ms: number): Promise<Said> {
  const said: Said & { started?: number } = { saved: 0, flushed: 0, marked: 0, killed_at: 0 }
  const child = spawn(process.execPath, [program, data_dir, JSON.stringify(bounds)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  endedWithUs(child)
  const kill = (): void => {
    said.killed_at = Date.now()
    child.kill('SIGKILL')
  }
  let text = ''
  let errors = ''
  child.stderr.on('data', chunk => (errors += chunk))
  child.stdout.on('data', chunk => {
    const lines = (text + chunk).split('\n')
    text = lines.pop()!
    for (const line of lines) {
      const [word, version] = line.split(' ') as [keyof Said, string]
      said[word] = Number(version)
      if (line.startsWith('started')) setTimeout(kill, after_ms)
    }
  })
  return new Promise((resolve, reject) => {
    child.on('exit', (code, signal) => {
      if (signal === 'SIGKILL') resolve(said)
      else reject(new TypeError(`the engine ended by itself with ${code}: ${errors}`))
    })
  })
}

test(`an engine killed at any moment loses nothing that it acknowledged, and starts clean (seed ${seed})`, async t => {
  const random = randomFrom(seed)
  const data_dir = temporaryDirectory(t)
  let saved = 0
  let version = 0
  const lost_ms: number[] = []
  for (let round = 1; round <= rounds; round++) {
    const said = await runAndKill(data_dir, round % 2 === 0 ? busy : {}, random() * 600)
    const db = new Database(databaseFile(data_dir))
    assert.equal(db.pragma('integrity_check', { simple: true }), 'ok')
    db.close()

    const { store, loaded } = await Store.start({ data_dir, sab: smallMemory().sab, log: text => assert.fail(text) })
    assert.equal(loaded.engine_epoch, 2 * round, 'each start counts')
    // Counted from the killed start: its numbers begin where the check before it ended.
    const flow = loaded.flows[0]
    assert.ok((flow?.version ?? 0) >= Math.max(saved, said.saved), `saved ${said.saved}, found ${flow?.version}`)
    saved = flow?.version ?? 0

    const last = loaded.values.find(value => value.name === 'f.a')?.version ?? 0
    assert.ok(last >= Math.max(version, said.flushed), `flushed ${said.flushed}, found ${last}`)
    assert.ok(last - version <= 1 || last <= said.marked + 50 * 100, 'nothing is there that was never published')
    if (last > version) lost_ms.push(said.killed_at - (loaded.values[0]?.ts ?? 0) / 1000)
    version = last
    if (flow !== undefined && last > 0) {
      // One point in time: the values of all messages, the state of the node, and the history end at the same version.
      for (const value of loaded.values) assert.deepEqual([value.version, value.number], [last, last], value.name)
      assert.deepEqual(
        loaded.states.map(state => codec.decodePlain(state.bytes)),
        [{ version: last }],
      )
      for (const name of ['f.a', 'f.d']) {
        const history = await store.history({ name, since: null, until: null, limit: 1_000_000, bucket_s: null })
        assert.deepEqual(
          history.items.map(item => 'version' in item && item.version),
          Array.from({ length: last }, (_, i) => i + 1),
        )
      }
    }
    await store.close()
  }
  // What the disk and the machine make of the 50 ms of a group commit; told, not asserted.
  t.diagnostic(`live values lost before the kill: at most ${Math.max(0, ...lost_ms)} ms`)
})
