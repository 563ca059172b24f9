import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { usage } from '../failure.ts'
import type { FoundFlow, ModuleAnswer, ReadModule } from './read-module.ts'

const FOLDER = 'flows'
const MODULE = /(?<!\.d|\.test|\.spec)\.(ts|mts|js|mjs)$/
const AT_ONCE = Math.min(4, availableParallelism())
/** Characters that are kept of the output of a module, from its end. */
const PRINTED_CHARACTERS = 8_192
/** Time after the end of a module for its last output. */
const LAST_WORDS_MS = 500

/** A module that was imported in a process of its own. */
export interface ReadAnswer {
  /** Path from the repository's root, with slashes. */
  readonly file: string
  readonly flows: readonly FoundFlow[]
  /** The files of the repository that it imported, with itself. */
  readonly files: readonly string[]
  readonly printed: string
  /** Why it exports no flows; null when it does. */
  readonly failure: string | null
}

/** Absolute paths of the named modules, or of those in the nearest `flows` folder upwards. Throws a Failure. */
export function modulesToRead(named: readonly string[], cwd: string, root: string): string[] {
  const files = named.length > 0 ? named.map(name => resolve(cwd, name)) : modulesUnder(flowsFolder(cwd, root))
  for (const file of files) {
    if (!statSync(file, { throwIfNoEntry: false })?.isFile()) throw usage(`${file} is not a file.`)
    if (relative(root, file).startsWith(`..${sep}`)) throw usage(`${file} is not in the repository ${root}.`)
  }
  return files
}

function flowsFolder(cwd: string, root: string): string {
  for (let at = cwd; ; at = dirname(at)) {
    const folder = join(at, FOLDER)
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return folder
    if (at === root || dirname(at) === at)
      throw usage(
        `There is no folder "${FOLDER}" in this directory or its parents up to ${root}. Name the modules that export flows.`,
      )
  }
}

const modulesUnder = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && MODULE.test(entry.name))
    .map(entry => join(entry.parentPath, entry.name))
    .filter(file => !relative(folder, file).split(sep).includes('node_modules'))
    .sort()

/** Imports each module in a process of its own, a few at a time. One that hangs, exits or throws does not affect the others. */
export async function readModules(files: readonly string[], root: string, timeout_ms: number): Promise<ReadAnswer[]> {
  const answers = new Array<ReadAnswer>(files.length)
  let next = 0
  const readOn = async (): Promise<void> => {
    for (let at = next++; at < files.length; at = next++) answers[at] = await readModule(files[at]!, root, timeout_ms)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, readOn))
  return answers
}

function readModule(file: string, root: string, timeout_ms: number): Promise<ReadAnswer> {
  const ask: ReadModule = { file, root }
  const child = fork(new URL('./read-module.ts', import.meta.url), [JSON.stringify(ask)], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let printed = ''
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (text: string) => (printed = (printed + text).slice(-PRINTED_CHARACTERS)))
  let answer: ModuleAnswer | null = null
  child.once('message', message => (answer = message as ModuleAnswer))
  let isLate = false
  const late = setTimeout(() => {
    isLate = true
    child.kill('SIGKILL')
  }, timeout_ms)
  return new Promise(done => {
    child.once('error', error => (printed += error.message))
    const finish = () => {
      clearTimeout(late)
      child.stdout!.destroy()
      child.stderr!.destroy()
      const { exitCode: code, signalCode: signal } = child
      const path = relative(root, file).split(sep).join('/')
      const whole = { file: path, flows: [], files: [], printed: printed.trim() }
      if (answer !== null && 'refused' in answer) done({ ...whole, failure: answer.refused })
      else if (answer !== null) done({ ...whole, ...answer, failure: null })
      else done({ ...whole, printed: '', failure: why(isLate, timeout_ms, code, signal, whole.printed) })
    }
    child.once('close', finish)
    // Programs that the module started may keep its output open forever; the answer comes before the channel ends.
    const ended = [once(child, 'exit'), once(child, 'disconnect')]
    void Promise.all(ended).then(() => setTimeout(finish, LAST_WORDS_MS).unref())
  })
}

/** The exit code of Node when nothing can settle a top-level await any more. */
const UNSETTLED = 13

function why(isLate: boolean, timeout_ms: number, code: number | null, signal: string | null, printed: string): string {
  const said = printed === '' ? '' : `\n${printed}`
  if (isLate) return `it was not loaded after ${timeout_ms / 1000} s; --timeout gives it longer.${said}`
  if (code === UNSETTLED) return `its top-level await never settles.${said}`
  if (/Cannot find package 'flow-engine'/.test(printed))
    return `it imports flow-engine, which is not in its node_modules: "npm install <folder of flow-engine>".${said}`
  return `it ended its process (${signal ?? `exit code ${code}`}) before it was loaded.${said}`
}
