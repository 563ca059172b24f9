import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { ThreadPool } from '../../threads/pool.ts'
import { directoryFor } from '../kit/spawned.ts'

/** A task whose module leaves a file behind when it is loaded, and takes its time for it. */
function slowModule(folder: string): { module: URL; loaded(): number } {
  const marks = join(folder, 'marks')
  mkdirSync(marks)
  const file = join(folder, 'task.mjs')
  writeFileSync(
    file,
    `import { writeFileSync } from 'node:fs'
import { threadId } from 'node:worker_threads'
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
writeFileSync(${JSON.stringify(`${marks}/`)} + threadId, '')
export default async ends => { if (ends) process.exit(1); return threadId }`,
  )
  return { module: pathToFileURL(file), loaded: () => readdirSync(marks).length }
}

test('threads that are loading are not ended before they have loaded: that would end the process', async t => {
  const { module, loaded } = slowModule(directoryFor(t))
  const pool = new ThreadPool({ module, threads: 2, heap_mb: 64 })
  await pool.end()
  assert.equal(loaded(), 2)
})

test('that goes for a thread that takes the place of one that ended, too', async t => {
  const { module, loaded } = slowModule(directoryFor(t))
  const pool = new ThreadPool({ module, threads: 1, heap_mb: 64 })
  assert.equal(typeof (await pool.run(false)), 'number')
  await assert.rejects(pool.run(true), /exited with code: 1/)
  await pool.end()
  assert.equal(loaded(), 2)
})
