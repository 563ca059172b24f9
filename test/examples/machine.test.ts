import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { alarmChanges, bodyOf, judge, readingTimestamps } from '../kit/examples.ts'
import { ROOT } from '../kit/sources.ts'

const README = readFileSync(join(ROOT, 'docs', 'examples', 'machine', 'README.md'), 'utf8')
/** The cells of the table rows that begin with a number, of the table under a heading. */
const rowsUnder = (heading: string): string[][] =>
  README.slice(README.indexOf(`## ${heading}`))
    .split('\n## ')[0]!
    .split('\n')
    .filter(line => /^\| +\**\d/.test(line))
    .map(line =>
      line
        .split('|')
        .slice(1, -1)
        .map(cell => cell.replaceAll('*', '').trim()),
    )

describe('the alarm of the machine example', () => {
  test('fires inside at least two of the four labelled windows with fewer than ten false alarms', async () => {
    const verdict = judge(await alarmChanges())
    assert.equal(verdict.windows.length, 4)
    assert.ok(verdict.windows.filter(found => found !== null).length >= 2, JSON.stringify(verdict))
    assert.ok(verdict.false_alarms.length < 10, JSON.stringify(verdict))
  })

  test('does what its page says of each window', async () => {
    const verdict = judge(await alarmChanges())
    assert.deepEqual(
      rowsUnder('What it finds').map(cells => cells.at(-1)),
      verdict.windows.map(found => found ?? 'never'),
    )
    for (const at of verdict.false_alarms) assert.ok(README.includes(at), `the page names the false alarm of ${at}`)
  })

  test('does what its page says of the other settings that were tried', async () => {
    const rows = rowsUnder('What was tried')
    assert.ok(rows.length > 5)
    for (const cells of rows) {
      const [smooth, over, clip, raise_at, clear_at] = cells.slice(0, 5).map(Number)
      const verdict = judge(
        await alarmChanges({ smooth: { over: smooth }, baseline: { over, clip }, alarm: { raise_at, clear_at } }),
      )
      const found = [verdict.windows.filter(at => at !== null).length, verdict.raised_inside]
      assert.deepEqual([...found, verdict.false_alarms.length], cells.slice(5).map(Number), cells.join(' | '))
    }
  })

  test('says when it changes and is silent in between', async () => {
    const changes = await alarmChanges()
    assert.deepEqual(changes[0], { alarm: false, changed_at: 0 })
    for (const [position, change] of changes.entries()) assert.equal(change.alarm, position % 2 === 1)
  })
})

describe('the replay of the machine example', () => {
  const started = { started: true }

  test('emits every reading of the series once, in order', async () => {
    const replay = await bodyOf('machine', 'replay', { speed: 0, repeat: false })
    const readings = [...(replay(started) as Iterable<{ reading: number }>)].map(emission => emission.reading)
    assert.deepEqual(
      readings,
      readingTimestamps().map((_, reading) => reading),
    )
  })

  test('starts again at the end when it is told to repeat', async () => {
    const replay = await bodyOf('machine', 'replay', { speed: 0, repeat: true })
    const length = readingTimestamps().length
    let reading = -1
    let taken = 0
    for (const emission of replay(started) as Iterable<{ reading: number }>) {
      reading = emission.reading
      if (++taken === length + 3) break
    }
    assert.equal(reading, 2)
  })

  test('goes on from where it was when it is started again', async () => {
    const replay = await bodyOf('machine', 'replay', { speed: 0, repeat: false })
    for (const emission of replay(started) as Iterable<{ reading: number }>) if (emission.reading === 99) break
    const [next] = replay(started) as Iterable<{ reading: number }>
    assert.equal(next?.reading, 100)
  })

  test('paces its emissions when it is given a speed', async () => {
    const replay = await bodyOf('machine', 'replay', { speed: 5000, repeat: false })
    const readings: number[] = []
    for await (const emission of replay(started) as AsyncIterable<{ reading: number }>) {
      if (readings.push(emission.reading) === 20) break
    }
    assert.deepEqual(
      readings,
      Array.from({ length: 20 }, (_, reading) => reading),
    )
  })
})
