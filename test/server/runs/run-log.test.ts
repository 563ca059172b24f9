import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LinePacker, linesOfChunk } from '../../../core/runs/log-lines.ts'
import { limits } from '../../../protocol/limits.ts'
import { RunLog } from '../../../server/runs/run-log.ts'

function lines(count: number, text = 'line') {
  const packer = new LinePacker()
  for (let at = 0; at < count; at++) packer.add('info', 1_000_000, text)
  return packer.take()
}
const opened = (bounds = { lines: 10, size: 10_000 }) => {
  const notes: unknown[] = []
  return { log: new RunLog({ flow: 'f', attempt: 1, note: note => notes.push(note) }, bounds), notes }
}
const nothing = (): void => {}

test('lines over a bound of the run are dropped with their number, and the others are kept in order', () => {
  const { log } = opened()
  log.add('a', lines(4), 0, nothing)
  log.add('b', lines(4), 3, nothing)
  log.add('a', lines(4), 0, nothing)
  log.say('b', 'warn', 1, 'too late')
  const { chunks, dropped } = log.take(true)!
  const kept = chunks.flatMap(chunk => [...linesOfChunk(chunk.lines)])
  assert.deepEqual([kept.length, kept.map(({ node }) => node).join(''), dropped], [10, 'aaaabbbbaa', 3 + 2 + 1])
  assert.equal(log.take(true), null)
  log.add('a', lines(1), 0, nothing)
  assert.deepEqual(log.take(true), { chunks: [], dropped: 7 })
  const large = opened({ lines: 10, size: 1_000 }).log
  large.add('a', lines(1, 'x'.repeat(2_000)), 0, nothing)
  assert.deepEqual(large.take(true), { chunks: [], dropped: 1 })
})

test('bodies hear that their lines are taken once little enough waits to be written', () => {
  const { log } = opened({ lines: 1e6, size: 1e9 })
  let taken = 0
  const batch = lines(1, 'x'.repeat(limits.RUN_LOG_WAITING / 4))
  for (let times = 0; times < 6; times++) log.add('a', batch, 0, () => taken++)
  assert.equal(taken, 3)
  const write = log.take(false)!
  assert.equal(taken, 3, 'what is on its way to the disk waits as well')
  log.written(write)
  log.written(log.take(false)!)
  assert.equal(taken, 6)
  log.add('a', lines(1, 'x'.repeat(limits.RUN_LOG_WAITING)), 0, () => taken++)
  log.end()
  assert.equal(taken, 7)
})

test('those who watch hear at most so many lines of a node in a second as of a live one', () => {
  const { log, notes } = opened({ lines: 1e6, size: 1e9 })
  log.add('a', lines(3 * limits.LOG_LINES_PER_NODE_PER_S), 0, nothing)
  log.add('b', lines(1), 0, nothing)
  assert.equal(notes.length, limits.LOG_LINES_PER_NODE_PER_S + 1)
})
