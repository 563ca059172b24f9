import type { NodeTypes } from '../../core/flow/check.ts'
import { type CheckSource, codeType } from './code.ts'
import { checkedType, type SettingsCheck } from './node-type.ts'
import { NODE_TYPES } from './types/index.ts'

/** Every node type, with what it allows. `sources`: of code nodes; in this thread when absent. */
export function nodeTypes(context: SettingsCheck, sources?: CheckSource): NodeTypes {
  return Object.fromEntries(
    NODE_TYPES.map(type => [type.name, type.name === 'code' ? codeType(sources) : checkedType(type, context)]),
  )
}
