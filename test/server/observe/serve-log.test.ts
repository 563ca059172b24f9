import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ServeLog } from '../../../server/observe/serve-log.ts'
import { directoryFor } from '../../kit/spawned.ts'

const linesOf = (path: string): Record<string, unknown>[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))

describe('the log of the engine', () => {
  test('is JSON lines that only their owner reads', t => {
    const path = join(directoryFor(t), 'serve.log')
    const log = new ServeLog({ path, now: () => new Date('2026-01-02T03:04:05.678Z') })
    log.info('engine_ready', { url: 'http://127.0.0.1:1' })
    log.error('store_failed', { error: new RangeError('too far') })
    log.close()
    const [first, second] = linesOf(path)
    assert.deepEqual(first, {
      ts: '2026-01-02T03:04:05.678Z',
      level: 'info',
      event: 'engine_ready',
      url: 'http://127.0.0.1:1',
    })
    assert.partialDeepStrictEqual(second, { level: 'error', error: { name: 'RangeError', message: 'too far' } })
    assert.equal(statSync(path).mode & 0o777, 0o600)
  })

  test('goes on where the engine before it ended', t => {
    const path = join(directoryFor(t), 'serve.log')
    for (const event of ['first', 'second']) {
      const log = new ServeLog({ path })
      log.info(event)
      log.close()
    }
    assert.deepEqual(
      linesOf(path).map(line => line['event']),
      ['first', 'second'],
    )
  })

  test('never holds a secret', t => {
    const path = join(directoryFor(t), 'serve.log')
    const log = new ServeLog({ path })
    const jwt = 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhZG1pbiJ9.c2lnbmF0dXJl'
    log.info('login', { password: 'hunter2', access_token: jwt, headers: { Authorization: `Basic hunter2` } })
    log.warn('text', { text: `Bearer ${jwt} and bearer.${jwt} and ${jwt}`, url: 'postgres://me:hunter2@db/x' })
    log.error('thrown', { error: new Error(`no ${jwt}`, { cause: 'x' }) })
    log.error('key', { pem: '-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n' })
    log.close()
    const text = readFileSync(path, 'utf8')
    assert.ok(!text.includes('hunter2') && !text.includes('eyJ'), text)
    assert.equal(linesOf(path).length, 4)
  })

  test('holds no character that a terminal or an editor obeys, and each reads back as itself', t => {
    const path = join(directoryFor(t), 'serve.log')
    const log = new ServeLog({ path })
    const text = '\u007f\u0080\u009b31m\u009f\u2028\u2029\u202eevil\u2066\u200f\u001b[2J é ✓'
    log.info('node_log', { text, [text]: 1 })
    log.info('node_log', { text: text.repeat(2000) })
    log.close()
    assert.doesNotMatch(readFileSync(path, 'utf8'), /[^\P{Cc}\n]|[\u2028\u2029]|\p{Bidi_Control}/u)
    const [line] = linesOf(path)
    assert.deepEqual([line!['text'], line![text]], [text, 1])
    assert.equal(linesOf(path).length, 2)
  })

  test('costs no more for a long text that nearly holds a secret again and again', t => {
    const path = join(directoryFor(t), 'serve.log')
    const log = new ServeLog({ path })
    // A search that begins anew at each of them takes minutes for a text of this length.
    for (const part of ['eyJ-', 'eyJ.', 'Bearer ', 'bearer.', '//:', '-----BEGIN '])
      log.info('said', { text: part.repeat(500_000) })
    log.info('said', { text: 'a eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhZGEifQ.c2ln b' })
    log.close()
    assert.equal(linesOf(path).at(-1)!['text'], 'a [hidden] b')
  })

  test('takes what JSON cannot and cuts what is too long', t => {
    const path = join(directoryFor(t), 'serve.log')
    const log = new ServeLog({ path })
    const circle: Record<string, unknown> = {}
    circle['self'] = circle
    log.info('circle', circle)
    log.info('big', { count: 10n, text: 'x'.repeat(100_000) })
    log.close()
    assert.deepEqual(
      linesOf(path).map(line => line['event']),
      ['circle', 'big'],
    )
    assert.ok(statSync(path).size < 20_000)
  })
})

describe('a log that grew too long', () => {
  const BYTES = 10_000

  test('is cut back to its newest lines while it is written', t => {
    const path = join(directoryFor(t), 'serve.log')
    const log = new ServeLog({ path, bytes: BYTES })
    for (let count = 0; count < 1_000; count++) {
      log.info('line', { count })
      if (count % 10 === 0) log.flush()
    }
    log.close()
    const counts = linesOf(path).map(line => Number(line['count']))
    assert.ok(statSync(path).size <= BYTES)
    assert.equal(counts.at(-1), 999)
    assert.ok(counts.length > 20)
    assert.deepEqual(
      counts,
      counts.map((_, at) => counts[0]! + at),
    )
    assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.ok(!existsSync(`${path}.cut`))
  })

  test('is cut back through no link that lies in the way', t => {
    const directory = directoryFor(t)
    const path = join(directory, 'serve.log')
    const others = join(directory, 'others')
    writeFileSync(others, 'mine')
    symlinkSync(others, `${path}.cut`)
    const log = new ServeLog({ path, bytes: 2000 })
    for (let n = 0; n < 100; n++) log.info('line', { n })
    log.close()
    assert.equal(readFileSync(others, 'utf8'), 'mine')
    assert.equal(linesOf(path).at(-1)!['n'], 99)
  })

  test('is cut back when it is opened', t => {
    const path = join(directoryFor(t), 'serve.log')
    const lines = Array.from({ length: 1_000 }, (_, count) => JSON.stringify({ event: 'old', count }))
    writeFileSync(path, `${lines.join('\n')}\n`)
    new ServeLog({ path, bytes: BYTES }).close()
    assert.ok(statSync(path).size <= BYTES / 2)
    assert.equal(linesOf(path).at(-1)!['count'], 999)
  })

  test('is cut back in place where no second file can be made', t => {
    const path = join(directoryFor(t), 'serve.log')
    mkdirSync(`${path}.cut`)
    const log = new ServeLog({ path, bytes: BYTES })
    for (let count = 0; count < 1_000; count++) log.error('line', { count })
    log.close()
    assert.ok(statSync(path).size <= BYTES)
    assert.equal(linesOf(path).at(-1)!['count'], 999)
  })
})
