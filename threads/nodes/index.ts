import type { NodeTypes, Rules } from '../../core/flow/check.ts'
import { type CheckSource, codeType } from './code.ts'
import { injectType } from './inject.ts'

export const NODE_TYPES = ['code', 'inject'] as const
export type NodeTypeName = (typeof NODE_TYPES)[number]

/** Every node type, with what it allows. */
export function nodeTypes(options: {
  /** IANA name; cron expressions are read in it. */
  timezone: string
  /** Of code nodes; in this thread when absent. */
  sources?: CheckSource
  fits: Rules['fits']
}): NodeTypes {
  return {
    code: codeType(options.sources),
    inject: injectType(options.timezone, options.fits),
  } satisfies Record<NodeTypeName, NodeTypes[string]>
}
