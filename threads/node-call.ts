import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Failure, THREW } from '../core/cascade/flow-run.ts'
import type { Body } from '../core/cascade/seat.ts'
import { errorTable, ServiceError } from '../protocol/errors.ts'

/**
 * The one door into user code: lanes and call slots alike call bodies here and nowhere else. What a body throws becomes a
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

/** What is kept of whatever a body threw. */
export function failureOf(error: unknown): Failure {
  if (error instanceof ServiceError) return { code: error.code, message: error.detail, stack: null }
  if (error instanceof Error) {
    const stack = typeof error.stack === 'string' ? error.stack.split('\n').slice(0, STACK_LINES).join('\n') : null
    return { code: 'node_error', message: shorten(`${error.name}: ${error.message}`), stack }
  }
  return { code: 'node_error', message: shorten(describe(error)), stack: null }
}

/** A failure that another thread found: its code is one of the table. */
export const failure = (code: Failure['code'], message: string): Failure => ({
  code,
  message: `${message} ${errorTable[code].next}`,
  stack: null,
})

const shorten = (text: string): string => (text.length > 2000 ? `${text.slice(0, 2000)}…` : text)

function describe(error: unknown): string {
  try {
    return `threw ${typeof error === 'string' ? error : (JSON.stringify(error) ?? String(error))}`
  } catch {
    return `threw ${Object.prototype.toString.call(error)}`
  }
}

/** Imports a body by the digest of its stripped source. Throws `body_not_loaded`, naming what went wrong. */
export async function loadBody(bodies: string, digest: string, node: string): Promise<Body> {
  let loaded: { default?: unknown }
  try {
    loaded = (await import(pathToFileURL(join(bodies, `${digest}.mjs`)).href)) as { default?: unknown }
  } catch (error) {
    throw new ServiceError('body_not_loaded', `${node}: ${error instanceof Error ? error.message : describe(error)}`)
  }
  if (typeof loaded.default !== 'function') {
    throw new ServiceError(
      'body_not_loaded',
      `${node}: its default export is ${typeof loaded.default}, not a function.`,
    )
  }
  return loaded.default as Body
}
