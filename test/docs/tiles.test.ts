import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { AnyTileType } from '../../protocol/dashboards/tile-type.ts'
import { TILE_TYPES } from '../../protocol/dashboards/tiles/index.ts'
import { ROOT } from '../kit/sources.ts'

const PAGE = join(ROOT, 'docs/tiles.md')

interface Setting {
  readonly default?: unknown
  readonly unit?: string
  readonly description?: string
}

/** `## value`, what it does, and a row for each setting. */
function sectionOf({ name, description, on_panels, settings }: AnyTileType): string {
  const required = new Set((settings as { required?: string[] }).required)
  const rows = Object.entries(settings.properties as Record<string, Setting>).map(([setting, schema]) => {
    const given = required.has(setting) ? 'needed' : `\`${JSON.stringify(schema.default)}\``
    const unit = schema.unit === undefined ? '' : ` In ${schema.unit}.`
    return `| \`${setting}\` | ${given === '`undefined`' ? '' : given} | ${schema.description}${unit} |`
  })
  const panels = on_panels ? '' : '\n\nNot on panels: it needs more than messages.'
  return `## ${name}\n\n${description}${panels}\n\n| setting | default | |\n|---|---|---|\n${rows.join('\n')}\n`
}

/** `UPDATE=1 node --test test/docs/tiles.test.ts` writes the sections into the page. */
test('docs/tiles.md has a section for each type of tile, with each of its settings', () => {
  const page = readFileSync(PAGE, 'utf8')
  const sections = TILE_TYPES.map(sectionOf).join('\n')
  const at = page.indexOf('## value')
  if (process.env['UPDATE']) writeFileSync(PAGE, page.slice(0, at) + sections)
  else assert.equal(page.slice(at), sections, 'UPDATE=1 node --test test/docs/tiles.test.ts brings the page up to date')
})

test('settings that name messages and flows have the names by which a rename finds them', () => {
  const NAMES = ['message', 'messages', 'publish', 'flow']
  for (const { name, settings } of TILE_TYPES)
    for (const [setting, schema] of Object.entries(settings.properties as Record<string, unknown>)) {
      const isReference = /A-Za-z_\]\[A-Za-z0-9_-\]\{0,63\}/.test(JSON.stringify(schema)) && setting !== 'inputs'
      assert.ok(!isReference || NAMES.includes(setting), `${name}.${setting}`)
    }
})
