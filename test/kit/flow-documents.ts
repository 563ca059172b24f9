import * as fc from 'fast-check'
import { checkDocument, type Rules } from '../../core/flow/check.ts'
import { type FlowFacts, factsOf, type World } from '../../core/flow/facts.ts'
import { compilePlan, type FlowWiring, type Indexer, type Plan } from '../../core/flow/plan.ts'
import type { Flavor } from '../../protocol/nouns/flavor.ts'
import type { FlowDocument, FlowNode, NormalDocument } from '../../protocol/nouns/flow-document.ts'
import { createCodec, newEncoded } from '../../protocol/values/codec.ts'
import { DTYPES, type Dtype } from '../../protocol/values/dtype.ts'
import { nodeTypes } from '../../threads/nodes/index.ts'

export const BODY = 'export default inputs => inputs'

/** `code('mean', 'raw other.x', 'mean', '!raw')`: reads `raw` and `other.x`, makes `mean`; `!` marks a read without trigger. All float. */
export function code(id: string, reads: string, makes: string, dtype: Dtype = 'float'): FlowNode {
  const words = (text: string): string[] => text.split(' ').filter(word => word !== '')
  return {
    id,
    type: 'code',
    source: BODY,
    ports: {
      inputs: words(reads).map((word, index) => ({
        name: `in${index}`,
        dtype,
        message: word.replace('!', ''),
        trigger: !word.startsWith('!'),
      })),
      outputs: words(makes).map(name => ({ name, dtype })),
    },
  }
}

const codec = createCodec()
const scratch = newEncoded()

/** The flavors that the rules know. */
export const flavors: Readonly<Record<string, Flavor>> = {
  small: { name: 'small', cpus: 2, gpus: null, ram: 2048, duration_s: null },
  timed: { name: 'timed', cpus: null, gpus: 1, ram: null, duration_s: 60 },
}

/** The rules of the real node types, cron in UTC, types stripped in this thread. */
export const rules: Rules = (() => {
  const fits: Rules['fits'] = (value, dtype) => codec.encode(value, dtype, scratch)
  return {
    types: nodeTypes({ timezone: 'UTC', fits, hasSecret: () => false }),
    fits,
    flavor: name => flavors[name] ?? null,
  }
})()

export const noWorld: World = { flow: () => null }

export const worldOf = (...flows: { name: string; document: FlowDocument }[]): World => {
  const facts = new Map<string, FlowFacts>()
  for (const { name, document } of flows) facts.set(name, factsOf(name, checked(document, name), true))
  return { flow: name => facts.get(name) ?? null }
}

export const checked = (document: FlowDocument, name = 'f', world = noWorld): NormalDocument =>
  checkDocument(name, document, world, rules).document

/** The same name gets the same number, each kind from 0. */
export function createIndexer(): Indexer {
  const numbers = (): ((name: string) => number) => {
    const known = new Map<string, number>()
    return name => {
      if (!known.has(name)) known.set(name, known.size)
      return known.get(name)!
    }
  }
  const wires = numbers()
  const wire = (...parts: [number, number, string]): number => wires(parts.join(' '))
  return { message: numbers(), node: numbers(), flow: numbers(), wire }
}

export const noWiring: FlowWiring = { readersOf: () => [], reachable: () => [] }

export function planOf(
  nodes: FlowNode[],
  options: { flow?: string; wiring?: FlowWiring; indexer?: Indexer; digest?: (node_id: string) => string | null } = {},
): Plan {
  const { flow = 'f', wiring = noWiring, indexer = createIndexer(), digest = () => null } = options
  return compilePlan({
    flow,
    version: 1,
    enabled: true,
    document: checked({ nodes }, flow),
    indexer,
    wiring,
    world: noWorld,
    digest,
    hash: text => text,
  })
}

/** Documents that the check accepts: some tens of nodes, loops, joins, reads without trigger, foreign and unknown messages. */
export const arbitraryDocument: fc.Arbitrary<FlowDocument> = fc
  .array(fc.tuple(fc.array(fc.nat(30), { maxLength: 5 }), fc.integer({ min: 0, max: 3 }), fc.nat()), { maxLength: 25 })
  .map(rows => {
    const made: string[] = []
    rows.forEach(([, outputs], index) => {
      for (let port = 0; port < outputs; port++) made.push(`m${index}_${port}`)
    })
    const message = (pick: number): string =>
      pick % 11 === 0 ? 'other.x' : pick % 7 === 0 ? 'given' : (made[pick % Math.max(made.length, 1)] ?? 'given')
    return {
      nodes: rows.map(([reads, outputs, salt], index) => ({
        id: `n${index}`,
        type: 'code',
        source: BODY,
        ports: {
          inputs: reads.map((pick, port) => ({
            name: `i${port}`,
            dtype: 'json' as const,
            message: message(pick + salt),
            trigger: (pick + salt) % 3 !== 0,
          })),
          outputs: Array.from({ length: outputs }, (_, port) => ({
            name: `o${port}`,
            dtype: DTYPES[salt % DTYPES.length]!,
            message: `m${index}_${port}`,
          })),
        },
      })),
      inputs: [{ message: 'given', dtype: 'json' as const }],
    }
  })
