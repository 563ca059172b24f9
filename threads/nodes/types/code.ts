import Type from 'typebox'
import type { NodeTypeDefinition } from '../node-type.ts'

/** A body in TypeScript or JavaScript. What it allows is checked by `codeType` in `../code.ts`, which needs the source. */
export const codeNodeType: NodeTypeDefinition = {
  name: 'code',
  title: 'Code',
  summary: 'Runs a body written in TypeScript or JavaScript.',
  settings: Type.Object({}, { additionalProperties: true, description: 'Any: the body finds them in `ctx.settings`.' }),
  inputs: { kind: 'any', description: 'Each is a member of the object that the body gets.' },
  outputs: { kind: 'any', description: 'Each is a member of the object that the body returns.' },
  place: 'lane',
  side_effects: false,
}
