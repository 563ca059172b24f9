import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../kit/sources.ts'

interface Entry {
  word: string
  meaning: string
  owner: string
}

const parts = (cell: string): string[] =>
  cell
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')

/** The rows of all tables; a row may define several words that belong together. */
const entries: Entry[] = readFileSync(join(ROOT, 'GLOSSARY.md'), 'utf8')
  .split('\n')
  .filter(line => line.startsWith('| ') && !line.startsWith('| word '))
  .flatMap(line => {
    const [words, meaning, owner] = line.split(' | ').map(cell => cell.replace(/^\| | ?\|$/g, ''))
    return parts(words!).map(word => ({ word, meaning: meaning!, owner: owner ?? '' }))
  })

test('no word of the glossary is defined twice', () => {
  assert.ok(entries.length > 100)
  const seen = new Map<string, string>()
  for (const { word, meaning } of entries) {
    assert.equal(seen.get(word), undefined, `"${word}" is: ${seen.get(word)}; and: ${meaning}`)
    seen.set(word, meaning)
  }
})

test('every word has a meaning, and the file that owns it exists', () => {
  for (const { word, meaning, owner } of entries) {
    assert.ok(meaning.length > 0, word)
    const files = [...owner.matchAll(/`([^`]+\.[a-z]+)`/g)].map(match => match[1]!)
    assert.ok(files.length > 0, `"${word}" names no file`)
    for (const file of files) assert.ok(existsSync(join(ROOT, file)), `"${word}": there is no ${file}`)
  }
})
