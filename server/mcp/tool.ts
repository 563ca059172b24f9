import type { Static, TObject } from 'typebox'
import type { SearchResult } from '../../protocol/nouns/search/found.ts'
import type { AuditAction } from '../../protocol/words/audit-actions.ts'
import type { Scope } from '../../protocol/words/scopes.ts'
import type { Caller } from '../auth/principal.ts'
import type { Engine } from '../engine.ts'

/** As `GET /search` asks it. */
export type Search = (text: string, limit: number) => Promise<SearchResult>

/** What a tool may use: the engine, and who asks. */
export interface ToolContext {
  readonly engine: Engine
  readonly caller: Caller
  readonly search: Search
  /** Aborted when the caller goes away or cancels. */
  readonly signal: AbortSignal
  /** Tells what was done, as an event of type `audit`: the object is a kind and a name, such as `flow:boiler`. */
  done(action: AuditAction, object: string): void
}

/** A tool that runs: what it asks of its caller stands in its declaration, and is checked before its arguments are looked at. */
export interface Tool {
  /** A verb and a noun: `read_flow`. */
  readonly name: string
  readonly title: string
  /** For a model: what it does, when to use it, and what to do next. */
  readonly description: string
  readonly scope: Scope
  /** Integers are bounded on both sides; unknown members are refused. */
  readonly input: TObject
  /** It changes nothing. */
  readonly reads_only: boolean
  /** Answers text, or what is written as JSON; longer than `limits.MCP_RESULT_BYTES` it is cut. Throws `ServiceError`. */
  readonly run: (args: never, context: ToolContext) => unknown
}

interface Declaration<I extends TObject> extends Omit<Tool, 'run' | 'input' | 'reads_only'> {
  readonly input: I
  readonly reads_only?: boolean
  run(args: Static<I>, context: ToolContext): unknown
}

export const tool = <I extends TObject>({ reads_only, ...declaration }: Declaration<I>): Tool => ({
  ...declaration,
  reads_only: reads_only ?? declaration.scope === 'read',
})
