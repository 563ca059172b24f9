import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Command } from 'commander'
import { errorTable } from '../../protocol/errors.ts'
import { clientVariables, settings } from '../../protocol/settings.ts'
import { silentProgram } from '../kit/silent-program.ts'
import { ROOT } from '../kit/sources.ts'

/** Words of a sentence in help and errors: a longer one has to be read twice. */
const WORDS_OF_A_HINT = 25

/** What readers stumbled over, with the words of the field for it. */
const RIDDLES: readonly (readonly [riddle: RegExp, say: string])[] = [
  [/\bso manieth/i, 'every n-th'],
  [/\bthat (of|in|to) which\b/i, 'two sentences'],
  [/\bmay be given again\b/i, 'may be repeated'],
  [/\bwhen not given\b/i, '(default: ...)'],
  [/\bstands there twice\b/i, 'is given twice'],
  [/\bwhat it is named for\b/i, 'its digest'],
  [/\bat least so bad\b|\bat least that bad\b/i, 'this level or a more severe one'],
  [/\bleave(s)? (it|them|the run|the runs) to (itself|themselves)\b/i, 'does not wait for its end'],
  [/\bwith commas between them\b/i, 'separated by commas'],
  [/\bbroke off: what came\b|\bis not the whole\b/i, 'is incomplete'],
  [/\bis no (name|digest|flow|flavor|file|input|json)\b/i, 'is not a ...'],
  [/\banew\b/i, 'again, or reload'],
  [/\bwhat waits in\b/i, 'the backlog of, or waiting items'],
  [/\bwhat runs (goes on|in it)\b/i, 'running executions'],
  [/\bst(and|ood)s? still\b/i, 'waits, or is blocked'],
  [/\bfor ever\b/i, 'without a limit, or never ends'],
  [/\b(that|which) (is|are) none\b/i, 'malformed, or not a ...'],
  [/\bcome back to (it|this)\b/i, 'reconsider when ...'],
  [/\bastray\b/i, 'leaked'],
  [/\btold apart\b|\btells? apart\b/i, 'distinguished, or distinguishes'],
  [/\bknown by heart\b/i, 'kept in memory'],
]

const program = silentProgram()

/** Each text of help with the command that prints it. */
function helpTexts(command: Command, path = 'svc'): [place: string, text: string][] {
  return [
    [path, command.description()],
    ...command.registeredArguments.map((each): [string, string] => [`${path} <${each.name()}>`, each.description]),
    ...command.options.map((each): [string, string] => [`${path} ${each.flags}`, each.description]),
    ...command.commands.flatMap(each => helpTexts(each, `${path} ${each.name()}`)),
  ]
}

const hints: [place: string, text: string][] = [
  ...helpTexts(program),
  ...Object.entries(settings).map(([name, { description }]): [string, string] => [name, description]),
  ...Object.entries(clientVariables),
  ...Object.entries(errorTable).map(([code, { title, next }]): [string, string] => [code, `${title}. ${next}`]),
]

const pages = [
  'README.md',
  ...['docs', 'docs/decisions', 'docs/shared-memory', 'docs/nodes'].flatMap(folder =>
    readdirSync(join(ROOT, folder))
      .filter(name => name.endsWith('.md'))
      .map(name => `${folder}/${name}`),
  ),
]

test('help, settings and errors have short sentences', () => {
  assert.ok(hints.length > 300, `${hints.length} texts`)
  const long = hints.filter(([, text]) =>
    text.split(/[.:;]\s/).some(sentence => sentence.split(/\s+/).length > WORDS_OF_A_HINT),
  )
  assert.deepEqual(long, [])
})

test('help, settings, errors and pages speak in words of the field', () => {
  const lines = pages.flatMap(page =>
    readFileSync(join(ROOT, page), 'utf8')
      .split('\n')
      .map((line, at): [string, string] => [`${page}:${at + 1}`, line]),
  )
  const found = [...hints, ...lines].flatMap(([place, text]) =>
    RIDDLES.filter(([riddle]) => riddle.test(text)).map(
      ([riddle, say]) => `${place}: "${riddle.exec(text)![0]}"; say: ${say}`,
    ),
  )
  assert.deepEqual(found, [])
})
