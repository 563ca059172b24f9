/**
 * The pages of docs/shared-memory hold the drawings that the layouts make. After a change of a layout:
 *
 *   DRAW=1 node --test test/core/memory/drawings.test.ts
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

const ROOT = join(import.meta.dirname, '../../..')
const PAGES = join(ROOT, 'docs/shared-memory')
const FOLDERS = [
  'core/memory',
  'core/memory/journal',
  'core/memory/recover',
  'core/memory/volatile',
  'core/cascade',
  'core/cascade/publish',
  'core/cascade/queue',
  'core/cascade/schedule',
  'core/books',
]
const DRAWING = /(<!-- drawing (\w+) -->\n```\n)([^`]*)(```)/g

/** Every layout that the folders export, by name. */
async function layouts(): Promise<Map<string, { folder: string; drawing: string }>> {
  const found = new Map<string, { folder: string; drawing: string }>()
  for (const folder of FOLDERS)
    for (const file of readdirSync(join(ROOT, folder)).filter(name => name.endsWith('.ts'))) {
      const exported: Record<string, unknown> = await import(pathToFileURL(join(ROOT, folder, file)).href)
      for (const value of Object.values(exported)) {
        const { name, draw } = (value ?? {}) as { name?: string; draw?: () => string }
        if (typeof name === 'string' && typeof draw === 'function') found.set(name, { folder, drawing: draw() })
      }
    }
  return found
}

test('the pages on shared memory hold the present drawing of every layout', async () => {
  const all = await layouts()
  const drawn = new Set<string>()
  for (const page of readdirSync(PAGES).filter(name => name.endsWith('.md'))) {
    const path = join(PAGES, page)
    const text = readFileSync(path, 'utf8')
    const fresh = text.replace(DRAWING, (_all, head: string, name: string, _old: string, tail: string) => {
      const layout = all.get(name)
      assert.ok(layout, `${page} draws ${name}, which is no layout`)
      drawn.add(name)
      return `${head}${layout.drawing.replace(/ +$/gm, '')}\n${tail}`
    })
    if (process.env['DRAW'] !== undefined) writeFileSync(path, fresh)
    else assert.equal(text, fresh, `${page} is out of date: DRAW=1 node --test test/core/memory/drawings.test.ts`)
  }
  for (const name of all.keys()) assert.ok(drawn.has(name), `no page of docs/shared-memory draws ${name}`)
})

test('every page says what happens when a thread dies', () => {
  for (const page of readdirSync(PAGES).filter(name => name.endsWith('.md')))
    assert.match(readFileSync(join(PAGES, page), 'utf8'), /dies|died/, page)
})
