/**
 * The runner behind `npm test`: sets up what the tests need, then hands every test file to `node --test`.
 *
 *   npm test                     all tests but those of test/faults; fuzz and stress files in their short form
 *   npm test -- memory cli       only the files whose path holds one of the words
 *   npm test -- faults           engines that are killed, full disks, hostile bodies: part of `npm run rounds`
 *   SEED=7 npm test              the same random numbers again
 *   LONG=1 npm test -- fuzz      fuzz and stress in their long form
 *
 * It ends with node's own summary, with what was skipped because this machine lacks something, and with node's exit code.
 */
import { spawn, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
/** Files of tests that capture pictures and sound. */
const USES_MEDIA = /live\/cameras|examples\/bottles|media\//
const USES_TERMINAL = /terminal\/tmux/
const USES_BROKER = /mqtt|outbox|examples\/sensors/
const TEST_FILE = /\.(test|fuzz|stress)\.ts$/
/** Whole engines, minutes long: run by `npm run rounds`. */
const ROUNDS = 'test/faults/'
/** For two cores: tests wait now and then, and every engine under test starts threads. */
const AT_ONCE = 3
/** A test that hangs is ended and reported by name; far above anything that a working test takes. */
const TEST_TIMEOUT_MS = 300_000
/** Debian packages that tests use, by a program of each. Where they may not be installed, tests say what they miss. */
const PACKAGES = { '/usr/bin/ffmpeg': 'ffmpeg', '/usr/bin/espeak-ng': 'espeak-ng' }
const BROKERS = ['/usr/sbin/mosquitto', '/usr/local/sbin/mosquitto', '/usr/bin/mosquitto']
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

process.exitCode = await main(process.argv.slice(2))

async function main(words: readonly string[]): Promise<number> {
  const files = testFiles().filter(file =>
    words.length === 0 ? !file.startsWith(ROUNDS) : words.some(word => file.includes(word)),
  )
  if (files.length === 0) {
    console.error(`No test file has a path with ${words.map(word => JSON.stringify(word)).join(' or ')} in it.`)
    return 1
  }
  if (files.some(file => file.includes('/browser/'))) installBrowser()
  if (files.some(file => USES_MEDIA.test(file))) installPackages()
  if (files.some(file => USES_BROKER.test(file)) && !BROKERS.some(path => existsSync(path))) install(['mosquitto'])
  if (files.some(file => USES_TERMINAL.test(file)) && !existsSync('/usr/bin/tmux')) install(['tmux'])
  const seed = process.env['SEED'] ?? String(randomInt(2 ** 31))
  console.log(`${files.length} test files, SEED=${seed}`)
  const code = await runNode(
    [
      '--import',
      join(ROOT, 'test/kit/quick-loading.js'),
      '--test',
      `--test-concurrency=${AT_ONCE}`,
      `--test-timeout=${TEST_TIMEOUT_MS}`,
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      `--test-reporter=${join(ROOT, 'test/skipped.ts')}`,
      '--test-reporter-destination=stdout',
      ...files,
    ],
    { ...process.env, SEED: seed },
  )
  if (code !== 0) console.error(`To see the same again: SEED=${seed} npm test${words.map(word => ` ${word}`).join('')}`)
  return code
}

/** Paths from the root, in alphabetical order. */
function testFiles(): string[] {
  return readdirSync(join(ROOT, 'test'), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && TEST_FILE.test(entry.name))
    .map(entry => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter(file => !file.includes('node_modules'))
    .sort()
}

function installPackages(): void {
  const missing = Object.entries(PACKAGES).flatMap(([path, name]) => (existsSync(path) ? [] : [name]))
  if (missing.length > 0) install(missing)
}

/** Debian's own Chromium, and only where we may install it; elsewhere the browser tests say what they miss. */
function installBrowser(): void {
  if (!BROWSERS.some(path => existsSync(path))) install(['chromium'])
}

function install(packages: readonly string[]): void {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return
  console.log(`Installing ${packages.join(', ')} for the tests ...`)
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  for (const words of [['update'], ['install', '--yes', '--no-install-recommends', ...packages]]) {
    spawnSync('apt-get', ['-q', ...words], { stdio: ['ignore', 'ignore', 'inherit'], env: environment })
  }
}

/** Resolves with the exit code; a signal to us is passed on, so that no test outlives its runner. */
function runNode(words: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(process.execPath, words, { cwd: ROOT, env: environment, stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', code => resolve(code ?? 1))
  })
}
