import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import { THREW } from '../../core/cascade/host.ts'
import type { Body, Failure } from '../../core/cascade/seat.ts'
import { errorTable, ServiceError } from '../../protocol/errors.ts'
import { failedLine } from './failed-line.ts'

/**
 * The only place that calls user code: lanes and call slots call bodies here. What a body throws becomes a
 * Failure; nothing that it throws passes through.
 */
export class NodeDoor {
  /** What the last call threw; meaningful after `enter` answered THREW. */
  thrown: unknown = null

  enter(body: Body, inputs: Record<string, unknown>, context: unknown): unknown {
    try {
      return body(inputs, context)
    } catch (error) {
      this.thrown = error
      return THREW
    }
  }
}

const STACK_LINES = 12
const MESSAGE_CHARACTERS = 2_000
const STACK_CHARACTERS = 16_384

/**
 * The stored form of a thrown value. Reading it may run the body's code once more (getters, proxies): nothing of that
 * passes through either.
 */
export function failureOf(error: unknown): Failure {
  try {
    if (error instanceof ServiceError) return ofService(error)
    return error instanceof Error ? ofError(error) : threw(describe(error), null)
  } catch {
    return threw(describe(error), null)
  }
}

/** A failure that another thread found: its code is one of the table. */
export const failure = (code: Failure['code'], message: string): Failure => ({
  code,
  message: `${sentence(message)} ${errorTable[code].next}`,
  stack: null,
})

/** The engine's own refusals reach bodies too, which may have written over them before they threw them on. */
function ofService({ code, detail }: ServiceError): Failure {
  if (typeof detail !== 'string' || !Object.hasOwn(errorTable, code)) return threw('a refusal of the engine', null)
  return { code, message: shorten(detail, MESSAGE_CHARACTERS), stack: null }
}

function ofError(error: Error): Failure {
  const { name, message, stack } = error
  const what = `${shorten(String(name), 100)}: ${shorten(String(message), MESSAGE_CHARACTERS)}`
  if (typeof stack !== 'string') return threw(what, null)
  const kept = stack.slice(0, STACK_CHARACTERS).split('\n').slice(0, STACK_LINES).join('\n')
  return threw(what, kept, failedLine(kept))
}

const threw = (what: string, stack: string | null, place = ''): Failure => ({
  code: 'node_error',
  message: `${sentence(`${sentence(what)}${place}`)} ${errorTable.node_error.next}`,
  stack,
})

const sentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`)

const shorten = (text: string, characters: number): string =>
  text.length > characters ? `${text.slice(0, characters)}…` : text

/** Calls no method and no trap of what was thrown; a getter of its class it may call. */
function describe(error: unknown): string {
  try {
    if (typeof error === 'string') return `threw ${shorten(error, MESSAGE_CHARACTERS)}`
    const shown = inspect(error, { depth: 2, maxArrayLength: 20, maxStringLength: 500, customInspect: false })
    return `threw ${shorten(shown, MESSAGE_CHARACTERS)}`
  } catch {
    return 'threw something that cannot be read'
  }
}

/** Bodies are files named by the digest of their source. */
export const BODY_FILE = /\/bodies\/([0-9a-f]{64})\.mjs/

/** The digest of the body that an exception came through; null when it came through none. */
export function bodyInStack(error: unknown): string | null {
  try {
    const { stack } = error as Error
    return typeof stack === 'string' ? (BODY_FILE.exec(stack)?.[1] ?? null) : null
  } catch {
    return null
  }
}

/** Imports a body by the digest of its stripped source. Throws `body_not_loaded`, naming what went wrong. */
export async function loadBody(bodies: string, digest: string, node: string): Promise<Body> {
  let loaded: { default?: unknown }
  try {
    loaded = (await import(pathToFileURL(join(bodies, `${digest}.mjs`)).href)) as { default?: unknown }
  } catch (error) {
    throw new ServiceError('body_not_loaded', `${node}: ${whyNot(error)}`)
  }
  if (typeof loaded.default !== 'function') {
    throw new ServiceError(
      'body_not_loaded',
      `${node}: its default export is ${typeof loaded.default}, not a function.`,
    )
  }
  return loaded.default as Body
}

/** One line: each line of the text ends as a sentence. */
const sentences = (text: string): string => {
  const lines = text.split('\n').map(line => line.trim())
  return lines.flatMap(line => (line === '' ? [] : [/[.?!]$/.test(line) ? line : `${line}.`])).join(' ')
}

/** An error thrown while a module is evaluated is as untrusted as one that a body throws. */
function whyNot(error: unknown): string {
  try {
    if (error instanceof Error) return shorten(sentences(`${error.name}: ${error.message}`), MESSAGE_CHARACTERS)
  } catch {}
  return describe(error)
}
