import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { checkDocument } from '../../core/flow/check.ts'
import { errorTable } from '../../protocol/errors.ts'
import {
  FlowDocument,
  FlowInput,
  FlowNode,
  InputPort,
  OutputPort,
  Resources,
} from '../../protocol/nouns/flow-document.ts'
import { nextCron } from '../../threads/nodes/cron.ts'
import { NODE_TYPES } from '../../threads/nodes/types/index.ts'
import { BODY, code, noWorld, rules } from '../kit/flow-documents.ts'

const read = (page: string): string => readFileSync(join(import.meta.dirname, '../../docs', page), 'utf8')
const pages = ['flow-document.md', ...NODE_TYPES.map(({ name }) => `nodes/${name}.md`)]

for (const page of pages)
  describe(`docs/${page}`, () => {
    const text = read(page)

    test('its example is saved as it stands, and read back it is saved again', () => {
      const examples = [...text.matchAll(/```json document\n([^`]*)```/g)].map(match => JSON.parse(match[1]!))
      assert.equal(examples.length, 1)
      const { document, issues } = checkDocument('f', examples[0], noWorld, rules)
      assert.deepEqual(checkDocument('f', document, noWorld, rules).document, document)
      for (const issue of issues) assert.equal(issue.code, 'unknown_flow')
    })

    test('the error codes that it names are in the table', () => {
      // Codes stand in brackets, or in a column of their own; issues share the brackets and are none of the table's.
      const named = [...text.matchAll(/\((?:`[a-z_]+`(?:, )?)+\)/g)].flatMap(([group]) => group.match(/[a-z_]+/g)!)
      for (const word of named)
        assert.ok(word in errorTable || ['unknown_flow', 'unknown_message'].includes(word), `${page}: ${word}`)
    })
  })

describe('every field has its row', () => {
  const sections = (page: string): Map<string, string> =>
    new Map(
      read(page)
        .split(/^## /m)
        .map(section => [section.split('\n')[0]!, section]),
    )
  const cases: [title: string, schema: { properties: object }][] = [
    ['The document', FlowDocument],
    ['A flow input', FlowInput],
    ['A node', FlowNode],
    ['An input port', InputPort],
    ['An output port', OutputPort],
    ['Resources', Resources],
  ]
  for (const [title, schema] of cases)
    test(title, () => {
      const rows = [
        ...sections('flow-document.md')
          .get(title)!
          .matchAll(/^\| `(\w+)` \|/gm),
      ].map(match => match[1]!)
      assert.deepEqual(rows, Object.keys(schema.properties))
    })

  for (const { name, settings } of NODE_TYPES.filter(type => type.name !== 'code'))
    test(`the settings of ${name}`, () => {
      const rows = [...read(`nodes/${name}.md`).matchAll(/^\| `(\w+)` \|/gm)].map(match => match[1]!)
      assert.deepEqual(rows, Object.keys(settings.properties))
    })
})

test('docs/nodes/README.md lists every type of node', () => {
  const rows = [...read('nodes/README.md').matchAll(/^\| \[([\w-]+)\]\(/gm)].map(match => match[1]!)
  assert.deepEqual(
    rows,
    NODE_TYPES.map(({ name }) => name),
  )
})

test('the defaults of a node are the ones that the page names', () => {
  const row = (field: string): string =>
    new RegExp(`^\\| \`${field}\` \\|[^|]*\\| \`([^\`]*)\``, 'm').exec(
      read('flow-document.md').split('## A node\n')[1]!,
    )![1]!
  const node = checkDocument('f', { nodes: [code('a', '', '')] }, noWorld, rules).document.nodes[0]!
  for (const field of [
    'language',
    'settings',
    'duration_s',
    'timeout',
    'cache',
    'device',
    'isolation',
    'position',
  ] as const)
    assert.deepEqual(JSON.parse(row(field)), node[field], field)
  assert.equal(node.source, BODY)
})

test('a cron time that a change of the clock leaves out or doubles', () => {
  const next = (after: string): string =>
    new Date(nextCron('30 2 * * *', 'Europe/Berlin', Date.parse(after))!).toISOString()
  assert.equal(next('2026-03-28T12:00:00Z'), '2026-03-29T01:00:00.000Z')
  assert.equal(next('2026-10-24T12:00:00Z'), '2026-10-25T00:30:00.000Z')
  assert.equal(next('2026-10-25T00:30:00Z'), '2026-10-26T01:30:00.000Z')
})
