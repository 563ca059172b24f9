import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { checkSource } from '../threads/nodes/code.ts'
import { filesUnder, ROOT } from './kit/sources.ts'

const pages = [...filesUnder('docs', '.md'), ...filesUnder('.', '.md').filter(file => !file.includes('/'))]
const text = (page: string): string => readFileSync(join(ROOT, page), 'utf8')

/** A path of ours, in backticks or in a drawing: it begins with one of our folders and is whole, so `rivals/<name>/` is none. */
const NAMED =
  /(?<![\w./<>-])(?:core|threads|protocol|server|clients|bench|test|docs|\.ci)\/[\w.-]+(?:\/[\w.-]+)*\/?(?![\w/<>*{-])/g
/** Made by running something; not in a fresh checkout. */
const MADE = /^bench\/results\b/

/** Where a path stands as code: between backticks or inside a fence. */
function codeOf(page: string): string {
  const fences: string[] = []
  const prose = text(page).replace(/^```[^\n]*\n([\s\S]*?)^```/gm, (_, inside: string) => {
    fences.push(inside)
    return ''
  })
  return [...fences, ...(prose.match(/`[^`\n]+`/g) ?? [])].join('\n')
}

const standsThere = (path: string): boolean =>
  [path, `${path}.ts`].some(candidate => existsSync(join(ROOT, candidate.replace(/\.$/, ''))))

describe('what the pages say exists', () => {
  for (const page of pages) {
    test(`every file that ${page} names`, () => {
      const missing = [...codeOf(page).matchAll(NAMED)].map(([path]) => path).filter(path => !MADE.test(path))
      assert.deepEqual(
        missing.filter(path => !standsThere(path)),
        [],
      )
    })

    test(`every place that ${page} links to`, () => {
      const wrong = linksOf(page).filter(link => !leadsSomewhere(page, link))
      assert.deepEqual(wrong, [])
    })
  }

  test('every page is reached from the index or from a page beside it', () => {
    const linked = new Set(pages.flatMap(page => linksOf(page).map(link => join(dirname(page), link.split('#')[0]!))))
    const lost = pages.filter(page => page.startsWith('docs/') && page !== 'docs/README.md' && !linked.has(page))
    assert.deepEqual(lost, [])
  })
})

function linksOf(page: string): string[] {
  const prose = text(page)
    .replace(/^```[^\n]*\n[\s\S]*?^```/gm, '')
    .replace(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter(link => !/^[a-z]+:/.test(link) && !link.startsWith('/'))
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path, anchor] = link.split('#') as [string, string | undefined]
  const target = path === '' ? page : join(dirname(page), path)
  if (!existsSync(join(ROOT, target))) return false
  if (anchor === undefined || statSync(join(ROOT, target)).isDirectory()) return true
  const anchors = [...text(target).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
  return anchors.includes(anchor)
}

describe('the bodies on the pages pass the check that a save makes', () => {
  for (const page of pages) {
    const bodies = [...text(page).matchAll(/^```(ts|js) body\n([\s\S]*?)^```/gm)]
    for (const [position, [, language, source]] of bodies.entries()) {
      test(`${page}, body ${position + 1} of ${bodies.length}`, () => {
        assert.ok(checkSource(language as 'ts' | 'js', source!).code.includes('export default'))
      })
    }
  }
})
