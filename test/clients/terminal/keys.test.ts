import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import fc from 'fast-check'
import { type Key, KeyDecoder } from '../../../clients/terminal/device/keys.ts'
import { seed } from '../../kit/random.ts'

/** What the reads come to, each key as a word: `up`, `"a"`, `paste "a b"`. */
function wordsOf(...reads: (string | Uint8Array)[]): string[] {
  const words: string[] = []
  const word = (key: Key): string =>
    key.type === 'key' ? key.name : `${key.type === 'paste' ? 'paste ' : ''}${JSON.stringify(key.text)}`
  const decoder = new KeyDecoder(key => words.push(word(key)))
  for (const read of reads) decoder.read(typeof read === 'string' ? Buffer.from(read) : read)
  return words
}

test('keys come as names, characters as they are', () => {
  assert.deepEqual(wordsOf('ab\r\t\x7f\x03'), ['"a"', '"b"', 'enter', 'tab', 'backspace', 'ctrl-c'])
  assert.deepEqual(wordsOf('\x1b[A\x1bOB\x1b[5~\x1b[1;5D\x1b[Z'), ['up', 'down', 'page-up', 'left', 'back-tab'])
  assert.deepEqual(wordsOf('温é'), ['"温"', '"é"'])
})

test('a sequence that means nothing here is no text', () => {
  assert.deepEqual(wordsOf('\x1b[?1;2ca\x1b[<0;10;10Mb\x1b[200;3Rc'), ['"a"', '"b"', '"c"'])
  assert.deepEqual(wordsOf(`\x1b[${'1;'.repeat(200)}`, 'a'), ['"a"'], 'one without an end is given up')
})

test('however the reads are split, the keys are the same', () => {
  const all = '\x1b[Aa\x1b[6~温\x1b[200~paste\x1b[A\n it\x1b[201~\x1bOHq👍🏽\r'
  const bytes = Buffer.from(all)
  const whole = wordsOf(bytes)
  assert.deepEqual(whole.slice(0, 5), ['up', '"a"', 'page-down', '"温"', 'paste "paste\\u001b[A\\n it"'])
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), cuts => {
      const at = [0, ...cuts.sort((a, b) => a - b), bytes.length]
      const reads = at.slice(1).map((end, index) => bytes.subarray(at[index], end))
      assert.deepEqual(wordsOf(...reads), whole)
    }),
    { seed },
  )
})

test('ESC alone is a key when nothing follows', () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  const names: string[] = []
  const decoder = new KeyDecoder(key => names.push(key.type === 'key' ? key.name : key.text))
  decoder.read(Buffer.from('\x1b'))
  assert.deepEqual(names, [])
  mock.timers.tick(60)
  assert.deepEqual(names, ['escape'])
  decoder.read(Buffer.from('\x1bx'))
  assert.deepEqual(names, ['escape', 'escape', 'x'])
  mock.timers.reset()
})

test('a paste of a megabyte is cut, and ends where it ends', () => {
  const words = wordsOf('\x1b[200~', 'x'.repeat(1_000_000), '\x1b[201', '~y')
  assert.equal(words.length, 2)
  assert.ok(words[0]!.length < 5_000)
  assert.equal(words[1], '"y"')
})
