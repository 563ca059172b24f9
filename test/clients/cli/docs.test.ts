import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Command } from 'commander'
import { clientVariables, EXIT, settings } from '../../../protocol/settings.ts'
import { silentProgram } from '../../kit/silent-program.ts'
import { filesUnder, ROOT } from '../../kit/sources.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const commandLine = read('docs/command-line.md')
const installation = read('docs/installation.md')

const program = silentProgram()

/** The commands that do something, as the page writes them: `flows get <name>`. */
function leaves(command: Command, path: string[] = []): [usage: string, command: Command][] {
  return command.commands.flatMap((each): [string, Command][] => {
    const words = [...path, each.name()]
    if (each.commands.length > 0) return leaves(each, words)
    const given = each.registeredArguments.map(argument => {
      const name = `${argument.name()}${argument.variadic ? '...' : ''}`
      return argument.required ? `<${name}>` : `[${name}]`
    })
    return [[[...words, ...given].join(' '), each]]
  })
}

const sections = new Map(
  commandLine.split(/^## /m).flatMap((part): [string, string][] => {
    const heading = /^`svc ([^`]+)`/.exec(part)
    return heading === null ? [] : [[heading[1]!, part]]
  }),
)

/** First cells of the tables of a text, without their ticks. */
const firstCells = (text: string): string[] =>
  [...text.matchAll(/^\| `([^|]+)` \|/gm)].map(match => match[1]!.replace(/`, `/g, ', '))

describe('the page of the command line', () => {
  test('has a section for every command and no other', () => {
    assert.deepEqual(
      [...sections.keys()].sort(),
      leaves(program)
        .map(([usage]) => usage)
        .sort(),
    )
  })

  for (const [usage, command] of leaves(program)) {
    test(`names every option of svc ${usage} and no other`, () => {
      assert.deepEqual(
        firstCells(sections.get(usage) ?? ''),
        command.options.map(({ flags }) => flags),
      )
    })
  }

  test('names the options of every command', () => {
    const part = commandLine.split(/^## /m).find(text => text.startsWith('Options of every command'))!
    const ours = program.options.map(({ flags }) => flags).filter(flags => !flags.includes('--version'))
    assert.deepEqual(firstCells(part), [...ours, '--help, --version'])
  })

  test('names every exit code', () => {
    const codes = [...commandLine.matchAll(/^\| (\d+) \|/gm)].map(match => Number(match[1]))
    assert.deepEqual(codes, Object.values(EXIT))
  })
})

describe('the page of installations', () => {
  test('has a row for every setting, with its variable, flag and default', () => {
    const rows = [...installation.matchAll(/^\| (?:`([A-Z_]+)` )?\| (?:`(--[a-z-]+)` )?\| ([^|]+?) \| [^|]+ \|$/gm)]
    const told = rows
      .filter(row => row[1] || row[2])
      .map(([, variable, flag, byDefault]) => [variable, flag, byDefault])
    const ours = Object.values(settings).map(({ variable, flag, default: byDefault }) => [
      variable ?? undefined,
      flag ?? undefined,
      byDefault,
    ])
    assert.deepEqual(told, ours)
  })

  test('has a row for every variable that the other commands read', () => {
    const rows = Object.fromEntries(
      [...installation.matchAll(/^\| `([A-Z_]+)` \| ([^|]+) \|$/gm)].map(match => [match[1]!, match[2]!]),
    )
    assert.deepEqual(rows, clientVariables)
  })

  test('names every variable that the command line reads', () => {
    const known = new Set<string>(Object.keys(clientVariables))
    for (const { variable } of Object.values(settings)) if (variable !== null) known.add(variable)
    // The terminal's own.
    known.add('TERM')
    const sources = filesUnder('clients/cli', '.ts').map(read).join('\n')
    const names = [...sources.matchAll(/(?:environment|env)\[?\.?'([A-Z_]+)'/g)].map(match => match[1]!)
    assert.ok(names.length > 0)
    assert.deepEqual(
      names.filter(name => !known.has(name)),
      [],
    )
  })
})
