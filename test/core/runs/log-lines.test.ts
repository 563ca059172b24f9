import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstLines, LinePacker, linesOfChunk, sectionOf, unpackLines } from '../../../core/runs/log-lines.ts'

/** Texts that look like the format itself, none at all, and characters of two units, half of one among them. */
const TEXTS = ['plain', '', '0,3:abc', 'a\nb 1 2 3 4\n', 'è\u{1f600}\u0000', '\ud800', 'x'.repeat(10_000)]

function packed() {
  const packer = new LinePacker()
  for (const [at, text] of TEXTS.entries())
    packer.add((['debug', 'info', 'warn', 'error'] as const)[at % 4]!, 1_000_000 - at * 7.5, text)
  return packer.take()
}

test('lines come back as they were packed, also from stored bytes and where the clock was set back', () => {
  assert.deepEqual(
    [...unpackLines(packed())].map(({ text }) => text),
    TEXTS,
  )
  const chunk = sectionOf('fit', 2, packed()) + sectionOf('score_2', 1, packed())
  const stored = [...linesOfChunk(Buffer.from(chunk).toString('utf8'))]
  assert.deepEqual(
    stored.map(({ text }) => text),
    [...TEXTS, ...TEXTS].map(text => text.toWellFormed()),
  )
  assert.deepEqual([stored[0]!.node, stored[0]!.attempt, stored[7]!.node, stored[7]!.attempt], ['fit', 2, 'score_2', 1])
  assert.deepEqual(
    stored.slice(0, 4).map(({ level }) => level),
    ['debug', 'info', 'warn', 'error'],
  )
  assert.deepEqual(
    stored.slice(0, 3).map(({ ts }) => ts),
    [1_000_000, 999_992, 999_985],
  )
  assert.deepEqual(
    [...unpackLines(firstLines(packed(), 2))].map(({ text }) => text),
    TEXTS.slice(0, 2),
  )
})

test('a chunk that was cut or changed is refused', () => {
  const chunk = sectionOf('fit', 1, packed())
  for (let at = 1; at < 200; at++) assert.throws(() => [...linesOfChunk(chunk.slice(0, at))], RangeError)
  assert.throws(() => [...linesOfChunk(`${chunk}x`)], RangeError)
  assert.throws(() => [...linesOfChunk(chunk.replace('00,5:plain', '90,5:plain'))], RangeError)
})
