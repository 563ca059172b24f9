import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { filesUnder, ROOT } from '../kit/sources.ts'

/** In the threads of bodies what nobody catches ends the thread, which the front notices and reports. */
const THREADS_OF_BODIES = /^threads\/(calls|lane)\//
/** `void` before a call: what it returns is given up. A promise would have nobody who hears of its rejection. */
const GIVEN_UP = /(^|=>|[;{)]|else)\s*(return )?void [\w.#!?]+(\([^()]*\)|[\w.#!?])*\(/
/** Calls that return no promise: of the database and of decoders. */
const SYNCHRONOUS = /void (db\.|codec\.decode|points\()/

test('no promise is given up: each rejection has an owner', () => {
  const given_up = ['server', 'threads']
    .flatMap(folder => filesUnder(folder, '.ts'))
    .filter(file => !THREADS_OF_BODIES.test(file))
    .flatMap(file =>
      readFileSync(join(ROOT, file), 'utf8')
        .split('\n')
        .flatMap((line, at) =>
          GIVEN_UP.test(line) && !line.includes('.catch(') && !SYNCHRONOUS.test(line)
            ? [`${file}:${at + 1} ${line.trim()}`]
            : [],
        ),
    )
  assert.deepEqual(given_up, [])
})

test('what gives a promise up is recognised, and what only discards a value is not', () => {
  const given_up = [
    '      if (gone) void this.#gone(null)',
    '    void team.refresh()',
    '  () => void this.closeMinute(), 5)',
  ]
  const discards = ['  find: value => void (found = value),', '  list(): void {', '    wake: () => void]']
  assert.deepEqual(
    [...given_up, ...discards].map(line => GIVEN_UP.test(line)),
    [true, true, true, false, false, false],
  )
})
