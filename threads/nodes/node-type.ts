import { createHash } from 'node:crypto'
import type { TObject } from 'typebox'
import type { Body, NodeType, RefuseAt, Rules } from '../../core/flow/check.ts'
import type { NormalInputPort, NormalNode, NormalOutputPort } from '../../protocol/nouns/flow-document.ts'
import { agrees, type Dtype } from '../../protocol/values/dtype.ts'
import { type Checker, createChecker } from '../../protocol/values/explain.ts'
import { secretsOf } from './secrets.ts'

/** A port that a type knows by its name. */
export interface KnownPort {
  readonly name: string
  /** Those that it may have; the first is the one that an editor offers. */
  readonly dtypes: readonly Dtype[]
  readonly description: string
  /** Without it the node has no use. */
  readonly required?: boolean
}

/**
 * The ports of one side of a node.
 *
 *   none    it has none
 *   any     whatever the document declares
 *   known   a choice of these; one that is not declared is not published
 *   fields  named after fields of what comes in, of any dtype
 */
export type PortRule =
  | { readonly kind: 'none' }
  | { readonly kind: 'any'; readonly description: string }
  | { readonly kind: 'known'; readonly ports: readonly KnownPort[]; readonly more?: string }
  | { readonly kind: 'fields'; readonly description: string }

/** What checks of settings may ask, beside the node. */
export interface SettingsCheck {
  /** IANA name; cron expressions are read in it. */
  readonly timezone: string
  readonly fits: Rules['fits']
  /** Is there a secret with that name? */
  hasSecret(name: string): boolean
}

/** Refuses a setting: `loc` is within the node, such as `settings.cron`. */
export interface SettingsOf<Settings> {
  readonly node: NormalNode
  readonly settings: Settings
  readonly refuse: RefuseAt
}

/**
 * A type of node that the engine brings along. One file in `types/` a type, listed in `types/index.ts`. A type whose place is `connectors` has a runner, listed in `../connectors/runners.ts`.
 * `GET /node-types` answers all of it but the functions, as JSON Schema.
 */
export interface NodeTypeDefinition<Settings = never> {
  /** As documents name it. */
  readonly name: string
  readonly title: string
  /** One sentence: what it does. */
  readonly summary: string
  /** Closed; each member has a description, and a default and a unit where there is one. */
  readonly settings: TObject
  readonly inputs: PortRule
  readonly outputs: PortRule
  /** Who runs it: a lane, the timer thread, the connectors thread, or the front (requests over HTTP). */
  readonly place: 'lane' | 'timer' | 'connectors' | 'front'
  /** It reaches something outside of the engine, or depends on time: its results are never taken from the stage cache. */
  readonly side_effects: boolean
  /** Of a type that a lane runs: its body, as one of a code node is written, in JavaScript. */
  readonly body?: string
  /** The outside thing that the node points at, without credentials: `mqtt://broker:1883`. Nodes with the same one share what leads there. */
  targetKey?(settings: Settings): string | null
  /** Do they name a file of the machine, which the node reads or makes? Who may write no code may not name one. */
  namesFile?(settings: Settings): boolean
  /** What the schema and the port rules cannot say. The settings fit the schema. */
  check?(of: SettingsOf<Settings>, context: SettingsCheck): void
}

/** Any definition, whatever its settings. */
export type AnyNodeType = NodeTypeDefinition<never>

const checkers = new WeakMap<AnyNodeType, Checker>()

function bodyOf(code: string): Body {
  return { code, digest: createHash('sha256').update(code).digest('hex') }
}

/** As the check of documents wants it. */
export function checkedType(type: AnyNodeType, context: SettingsCheck): NodeType {
  return {
    check(node, refuse) {
      checkPorts(type, 'inputs', node.ports.inputs, refuse)
      checkPorts(type, 'outputs', node.ports.outputs, refuse)
      if (node.source !== null) refuse('validation', 'source', `a node of type ${type.name} has no source`)
      let checker = checkers.get(type)
      if (checker === undefined) checkers.set(type, (checker = createChecker(type.settings)))
      const places = checker.refusals(node.settings, 'settings')
      for (const { loc, msg } of places) refuse('bad_settings', loc, msg)
      for (const { name, loc } of secretsOf(node.settings, 'settings'))
        if (!context.hasSecret(name)) refuse('unknown_secret', loc, `there is no secret "${name}"`)
      if (places.length === 0) type.check?.({ node, settings: node.settings as never, refuse }, context)
      return type.body === undefined ? null : bodyOf(type.body)
    },
  }
}

function checkPorts(
  type: AnyNodeType,
  side: 'inputs' | 'outputs',
  ports: readonly (NormalInputPort | NormalOutputPort)[],
  refuse: RefuseAt,
): void {
  const rule = type[side]
  const kind = side === 'inputs' ? 'input' : 'output'
  if (rule.kind === 'none' && ports.length > 0)
    refuse('validation', `ports.${side}`, `a node of type ${type.name} has no ${kind} ports`)
  if (rule.kind !== 'known') return
  const names = rule.ports.map(({ name }) => name).join(', ')
  for (const [at, port] of ports.entries()) {
    const known = rule.ports.find(({ name }) => name === port.name)
    if (known === undefined) {
      if (rule.more === undefined)
        refuse(
          'validation',
          `ports.${side}[${at}].name`,
          `${type.name} has no ${kind} port "${port.name}"; it has ${names}`,
        )
      continue
    }
    const fits = known.dtypes.some(dtype => (side === 'inputs' ? dtype === port.dtype : agrees(dtype, port.dtype)))
    if (!fits)
      refuse(
        'dtype_mismatch',
        `ports.${side}[${at}].dtype`,
        `${kind} port "${port.name}" of ${type.name} is ${known.dtypes.join(' or ')}, not ${port.dtype}`,
      )
  }
  for (const { name, required } of rule.ports)
    if (required && !ports.some(port => port.name === name))
      refuse('validation', `ports.${side}`, `${type.name} needs its ${kind} port "${name}"`)
}
