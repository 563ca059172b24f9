/**
 * What a repeat costs: a run of a chain of 1,000 nodes, every one of which the stage cache has, beside the same run without
 * the cache and with bodies of nothing. The bodies run in call slots; the hits are found on the front thread alone.
 *
 * `fingerprint`: the key of one node, its parts and the digest of its one item, beside a bare SHA-256 of the same bytes.
 */
import { createHash } from 'node:crypto'
import { itemDigest, StageFingerprint } from '../core/runs/fingerprint.ts'
import type { FlowDocument } from '../protocol/nouns/flow-document.ts'
import { canonical } from '../protocol/values/canonical-json.ts'
import { chainNodes, startOurs } from './engine.ts'
import { type Bench, type Contestant, compare, type Row, RUNS } from './kit.ts'

const NODES = 1_000
const WARM_UP_RUNS = 15
const FINGERPRINTS = 20_000
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

const bench: Bench = {
  name: 'cache',
  shows: 'a run of 1,000 nodes that are all in the stage cache, and what a fingerprint costs',
  floor: 'for the fingerprint: a bare SHA-256 of its canonical bytes',
  rival: 'for the run: the same one with bodies of nothing and without the cache',
  async run(): Promise<Row[]> {
    const ours = await startOurs(1)
    await ours.partner.ask('save', { name: 'chain', document: chain(NODES) })
    const once = async (no_cache: boolean): Promise<number> => {
      const asked = { flow: 'chain', inputs: { first: 1 }, no_cache }
      return (await ours.partner.ask<{ seconds: number }>('run', asked)).seconds * 1000
    }
    const contestants: Record<'ours' | 'rival', Contestant> = {
      ours: async () => ({ '1,000 cached nodes': await once(false) }),
      rival: async () => ({ '1,000 cached nodes': await once(true) }),
    }
    // The code of the front is compiled as it is used: an engine that has run a while is what is asked about.
    for (let times = 0; times < WARM_UP_RUNS; times++)
      for (const contestant of Object.values(contestants)) await contestant()
    const runs = await compare({ unit: 'ms', runs: RUNS, ...contestants })
    return [...runs, ...(await compare({ unit: 'us', runs: RUNS, floor: bareHash, ours: fingerprint }))]
  },
}
export default bench

/** `first -> body0 -> x1 ... -> last`, each node with a setting of its own. */
function chain(nodes: number): FlowDocument {
  const source = 'export default ({ x }) => ({ x: x + 1 })'
  return {
    inputs: [{ message: 'first', dtype: 'float' }],
    nodes: chainNodes(nodes, 'first', source).map((node, number) => ({ ...node, settings: { number } })),
  }
}

const node = {
  language: 'js' as const,
  settings: { window: 12, threshold: 4.5, mode: 'trailing' },
  ports: {
    inputs: [{ name: 'x', dtype: 'float' as const, message: 'first', trigger: true }],
    outputs: [{ name: 'x', dtype: 'float' as const, message: 'last', rate_hz: null }],
  },
}
const stage = new StageFingerprint(node, sha256('a body'), sha256)
const keyOf = (item: number) => stage.key('', { x: itemDigest(item, sha256) })

const fingerprint: Contestant = async () => {
  const began_ms = performance.now()
  for (let item = 0; item < FINGERPRINTS; item++) keyOf(item + 0.5)
  return { fingerprint: ((performance.now() - began_ms) / FINGERPRINTS) * 1000 }
}

const bareHash: Contestant = async () => {
  const bytes = canonical(keyOf(0.5).parts)
  const began_ms = performance.now()
  for (let item = 0; item < FINGERPRINTS; item++) sha256(bytes)
  return { fingerprint: ((performance.now() - began_ms) / FINGERPRINTS) * 1000 }
}
