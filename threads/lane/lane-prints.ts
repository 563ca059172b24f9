import type { LogLevel } from '../../protocol/nouns/run-log.ts'
import { bodyInStack } from '../calls/node-call.ts'
import { type NodeContext, printLine } from '../calls/node-context.ts'
import { PrintedOutput, type PrintTarget } from '../calls/printed/output.ts'

/**
 * Finds the node that prints on a lane: the one whose body is being called, and after an await the one whose body is found in
 * the stack. Two nodes with the same source look the same in the stack: the line is attributed to the one that was loaded last.
 */
export class LanePrints implements PrintTarget {
  /** Of the body that is being called. */
  context: NodeContext | null = null
  readonly #by_digest = new Map<string, NodeContext>()

  constructor() {
    new PrintedOutput(this, false)
  }

  /** The context of the next execution of a node. */
  renewed(digest: string | null, context: NodeContext): void {
    if (digest !== null) this.#by_digest.set(digest, context)
  }

  printed(line: string, level: LogLevel): boolean {
    const context = this.context ?? this.#by_digest.get(bodyInStack(new Error('where')) ?? '')
    if (context === undefined) return false
    printLine(context, line, level)
    return true
  }
}
