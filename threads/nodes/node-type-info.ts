import type { NodeTypeInfo as Info } from '../../protocol/nouns/node-type.ts'
import type { AnyNodeType } from './node-type.ts'

/** A type of node as it is answered: all of it but the functions. */
export const infoOf = ({
  name,
  title,
  summary,
  place,
  side_effects,
  targetKey,
  settings,
  inputs,
  outputs,
}: AnyNodeType): Info =>
  ({
    name,
    title,
    summary,
    place,
    side_effects,
    has_target: targetKey !== undefined,
    settings: settings as unknown as Info['settings'],
    inputs,
    outputs,
  }) as Info
