/**
 * Builds the web app and the page of panels into clients/web/dist, each file also compressed, so that the engine compresses nothing.
 *
 *   node clients/web/build.ts              builds
 *   node clients/web/build.ts --if-older   only when it is missing or older than its sources; a build that fails is told and is no failure,
 *                                          for the engine works without it
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const HERE = import.meta.dirname
const ROOT = join(HERE, '../..')
const DIST = join(HERE, 'dist')
/** A build goes here and takes the place of the last one when it is whole, so that an engine never serves half of one. */
const NEXT = join(HERE, `.dist-${process.pid}`)
/** Written last. */
const DONE = 'built.json'
/** A folder that is there while somebody builds: others wait, and then find it done. */
const LOCK = join(HERE, '.building')
const STALE_MS = 60_000
const LOOK_MS = 50
/** What goes into the app. */
const SOURCES = [
  ...['src', 'look', 'public', 'index.html', 'panel.html', 'vite.config.ts', 'build.ts'].map(name => join(HERE, name)),
  ...['protocol', 'clients/client', 'package-lock.json'].map(name => join(ROOT, name)),
]
const COMPRESSED = new Set(['.html', '.js', '.css', '.svg', '.json'])
const LEAST_BYTES = 512

const ifOlder = process.argv.includes('--if-older')
if (!ifOlder || isOld()) {
  await takeLock()
  try {
    if (!ifOlder || isOld()) await buildAll()
  } catch (error) {
    console.error(`The web app could not be built: ${error instanceof Error ? error.message : error}`)
    if (!ifOlder) process.exitCode = 1
    else console.error('The engine starts without it.')
  } finally {
    for (const folder of [LOCK, NEXT]) rmSync(folder, { recursive: true, force: true })
  }
}

async function takeLock(): Promise<void> {
  for (;;) {
    try {
      return mkdirSync(LOCK)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      // Whoever was killed while it built leaves it.
      const since_ms = statSync(LOCK, { throwIfNoEntry: false })?.mtimeMs ?? 0
      if (Date.now() - since_ms > STALE_MS) rmSync(LOCK, { recursive: true, force: true })
      else await sleep(LOOK_MS)
    }
  }
}

async function buildAll(): Promise<void> {
  console.error('Building the web app ...')
  const { build } = await import('vite')
  await build({ configFile: join(HERE, 'vite.config.ts'), logLevel: 'error', build: { outDir: NEXT } })
  compress()
  writeFileSync(join(NEXT, DONE), JSON.stringify({ api_url: process.env['VITE_API_URL'] ?? '' }))
  rmSync(DIST, { recursive: true, force: true })
  renameSync(NEXT, DIST)
}

function isOld(): boolean {
  try {
    const built_ms = statSync(join(DIST, DONE)).mtimeMs
    const { api_url } = JSON.parse(readFileSync(join(DIST, DONE), 'utf8')) as { api_url: string }
    return api_url !== (process.env['VITE_API_URL'] ?? '') || SOURCES.some(path => newestMs(path) > built_ms)
  } catch {
    return true
  }
}

function newestMs(path: string): number {
  const found = statSync(path)
  if (!found.isDirectory()) return found.mtimeMs
  const within = readdirSync(path, { recursive: true, withFileTypes: true })
  const times = within.map(entry => statSync(join(entry.parentPath, entry.name)).mtimeMs)
  return Math.max(found.mtimeMs, ...times)
}

function compress(): void {
  for (const entry of readdirSync(NEXT, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isFile() || !COMPRESSED.has(extname(path))) continue
    const bytes = readFileSync(path)
    if (bytes.length < LEAST_BYTES) continue
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length, [constants.BROTLI_PARAM_QUALITY]: 10 }
    writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }))
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
  }
}
