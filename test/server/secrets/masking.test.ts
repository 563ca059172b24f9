import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import * as fc from 'fast-check'
import { finish, type Steps } from '../../../core/steps.ts'
import { formsOf, Masking } from '../../../server/secrets/masking.ts'

const maskingOf = (...values: string[]): Masking => {
  const masking = new Masking()
  for (const [at, value] of values.entries()) finish(masking.set(`s${at}`, value))
  masking.write()
  return masking
}

const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  'as it is': text => text,
  base64: text => Buffer.from(text).toString('base64'),
  base64url: text => Buffer.from(text).toString('base64url'),
  hex: text => Buffer.from(text).toString('hex'),
  'a part of a URL': encodeURIComponent,
  'a form': text => new URLSearchParams({ k: text }).toString(),
  JSON: text => JSON.stringify({ k: [text] }),
  'JSON in JSON': text => JSON.stringify(JSON.stringify({ k: text })),
  'ASCII JSON': text =>
    JSON.stringify(text).replace(/[\u007f-\uffff]/g, one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`),
}

const word = fc.string({ unit: 'grapheme', minLength: 0, maxLength: 40 }).filter(text => text.isWellFormed())
const secret = fc
  .oneof(
    fc.string({ unit: 'grapheme', minLength: 8, maxLength: 60 }),
    fc.string({ minLength: 8, maxLength: 200 }),
    fc.stringMatching(/^[A-Za-z0-9+/=_-]{8,64}$/),
    // Those that begin alike, and those that repeat themselves.
    fc.string({ minLength: 4, maxLength: 20 }).map(text => `https://user:${text}@host`),
    fc.integer({ min: 8, max: 50 }).map(length => 'ab'.repeat(length)),
  )
  .filter(text => text.length >= 8 && text.isWellFormed() && !text.includes('\0'))

test('no secret comes out of a text, whatever stands around it and however it is encoded', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(secret, { minLength: 1, maxLength: 8 }),
      fc.constantFrom(...Object.keys(ENCODINGS)),
      fc.array(fc.tuple(word, fc.nat()), { minLength: 1, maxLength: 4 }),
      word,
      (secrets, how, parts, last) => {
        const { masks } = maskingOf(...secrets)
        const encode = ENCODINGS[how]!
        const plain = parts.map(([before, at]) => before + secrets[at % secrets.length]!).join('') + last
        const masked = masks.text(encode(plain))
        for (const [, at] of parts) {
          const one = secrets[at % secrets.length]!
          assert.equal(masked.includes(one), false, masked)
          assert.equal(masked.includes(JSON.stringify(one).slice(1, -1)), false, masked)
          // What decodes it gets nothing of it either.
          if (how === 'base64' || how === 'base64url')
            assert.equal(Buffer.from(masked.replaceAll('***', ''), 'base64').toString().includes(one), false)
          if (how === 'hex') assert.equal(masked.includes(Buffer.from(one).toString('hex')), false)
        }
      },
    ),
    { numRuns: 500 },
  )
})

test('what holds no secret stays as it is, and is not even copied', () => {
  fc.assert(
    fc.property(fc.uniqueArray(secret, { maxLength: 20 }), fc.jsonValue(), (secrets, value) => {
      const { masks } = maskingOf(...secrets)
      const text = JSON.stringify(value)
      if (secrets.some(one => [...formsOf(one)].some(form => form !== undefined && text.includes(form)))) return
      assert.equal(masks.deep(value), value)
    }),
  )
})

test('overlapping secrets are masked together, members and their names too, and other values stay', () => {
  const { masks } = maskingOf('abcdefgh', 'efghijkl', 'abcdefghijklmnop')
  assert.equal(masks.text('<abcdefghijkl>'), '<***>')
  assert.equal(masks.text('<abcdefghijklmnop abcdefgh abcdefg>'), '<*** *** abcdefg>')
  assert.deepEqual(masks.deep({ abcdefgh: [1, null, 'xefghijklx'], other: { deep: true } }), {
    '***': [1, null, 'x***x'],
    other: { deep: true },
  })
})

test('a value of many lines is masked line by line, and as what console.log prints of an object', () => {
  const pem = '-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49\nAgEGCCqGSM49AwEHBG0w\n-----END PRIVATE KEY-----\n'
  const { masks } = maskingOf(pem, `it's a "quoted" \\ text`)
  assert.equal(masks.text('line MIGHAgEAMBMGByqGSM49'), 'line ***')
  assert.equal(masks.text('-----BEGIN PRIVATE KEY-----'), '-----BEGIN PRIVATE KEY-----')
  assert.doesNotMatch(masks.text(inspect({ key: pem })), /MIGH|AgEGCC/)
  assert.doesNotMatch(masks.text(inspect({ key: `it's a "quoted" \\ text` })), /quoted/)
})

test('where the engine has cut a text in the middle of a secret, what is left of it is masked', () => {
  const { masks } = maskingOf('correct-horse-battery-staple')
  assert.equal(masks.text('Error: correct-horse-bat… more'), 'Error: ***… more')
  assert.equal(masks.text('Error: correct-horse-bat and more'), 'Error: correct-horse-bat and more')
})

/** What it returns, and in how many steps. */
function counted<Result>(steps: Steps<Result>): { result: Result; count: number } {
  for (let count = 0; ; count++) {
    const { done, value } = steps.next()
    if (done) return { result: value, count }
  }
}

test('a long text and a value of many parts are masked in steps, as they are at once', () => {
  const { masks } = maskingOf('correct-horse-battery-staple', '日本語の長い秘密')
  const text = 'nothing of it '.repeat(30_000)
  const around = `${text}correct-horse-battery-staple${text}日本語の長い秘密`
  const values = [around, { list: Array.from({ length: 100_000 }, (_, at) => at), around }, [[[{ around: [around] }]]]]
  for (const value of values) {
    const { result, count } = counted(masks.deepSteps<unknown>(value))
    assert.deepEqual(result, masks.deep(value))
    assert.doesNotMatch(JSON.stringify(result), /horse|秘密/)
    assert.ok(count >= 20, `${count} steps`)
  }
  assert.equal(finish(masks.deepSteps(text)), text)
})

test('a table that changes while a long text is masked is searched from the beginning', () => {
  const masking = maskingOf('the first value')
  const steps = masking.masks.deepSteps(`the second value ${'x'.repeat(100_000)} the first value`)
  steps.next()
  finish(masking.set('s1', 'the second value'))
  masking.write()
  assert.match(counted(steps).result as string, /^\*{3} x+ \*{3}$/)
})

test('a long text that repeats a secret, or a part of it, takes no longer than another', () => {
  const { masks } = maskingOf('日'.repeat(20_000), 'ab'.repeat(8))
  const half = '日'.repeat(19_999)
  const long = `${half}|`.repeat(50)
  assert.equal(masks.text(long), long)
  assert.equal(masks.text('日'.repeat(1_000_000)), '***')
  assert.equal(masks.text(`日${'ab'.repeat(500_000)}`), '日***')
})

test('the forms of a long value are made ready in steps', () => {
  for (const value of ['ü'.repeat(32_768), '日'.repeat(21_845), '😀'.repeat(16_384), `'"\n`.repeat(21_845)]) {
    const masking = new Masking()
    const { count } = counted(masking.set('long', value))
    assert.ok(count >= 100, `${count} steps`)
    masking.write()
    for (const [how, encode] of Object.entries(ENCODINGS))
      assert.ok(masking.masks.text(encode(value)).length < 40, `${how} of ${value.slice(0, 3)}`)
    assert.ok(masking.masks.text(inspect({ k: [value] }, { maxStringLength: null, breakLength: Infinity })).length < 40)
  }
})

test('a value of fewer than eight characters is not masked, one that was replaced or removed still is', () => {
  const masking = maskingOf('1234567', 'the first value')
  assert.equal(masking.masks.text('1234567 the first value'), '1234567 ***')
  finish(masking.set('s1', 'the second value'))
  masking.write()
  assert.equal(masking.masks.text('the first value, the second value'), '***, ***')
  finish(masking.set('s1', null))
  masking.write()
  assert.equal(masking.masks.text('the first value, the second value'), '***, ***')
  assert.equal(new Masking().masks.isEmpty, true)
})
