import type { Run, RunNode } from '../nouns/run.ts'

/** How two runs differ at one place, a dotted path. */
export interface RunDifference {
  readonly path: string
  /** Absent where the run has no such leaf. */
  readonly a?: unknown
  readonly b?: unknown
}

/** What runs are compared by: not when they were, nor how long they took. */
export const runFacts = (run: Run, nodes: readonly RunNode[]): Record<string, unknown> => ({
  flow: run.flow,
  version: run.version,
  commit: run.commit,
  code_digest: run.code_digest,
  origin_commit: run.origin_commit,
  seed: run.seed,
  timeout: run.timeout,
  no_cache: run.no_cache,
  inputs: run.inputs_resolved,
  status: run.status,
  error: run.error && { node: run.error.node, code: run.error.code, message: run.error.message },
  nodes: Object.fromEntries(nodes.map(({ node, status, error }) => [node, { status, error: error?.message ?? null }])),
  result: run.result,
})

/** Leaf by leaf, at dotted paths; lists are compared whole. A side that lacks the leaf has none. */
export function runDifferences(a: unknown, b: unknown, path = ''): RunDifference[] {
  if (!isTree(a) && !isTree(b)) return JSON.stringify(a) === JSON.stringify(b) ? [] : [{ path, a, b }]
  const [left, right] = [isTree(a) ? a : {}, isTree(b) ? b : {}]
  const keys = new Set([...Object.keys(left), ...Object.keys(right)])
  const inside = [...keys].flatMap(key => runDifferences(left[key], right[key], path === '' ? key : `${path}.${key}`))
  // Something against an object: the value itself is a difference, beside the object's members.
  const isMixed = (!isTree(a) && a !== undefined && a !== null) || (!isTree(b) && b !== undefined && b !== null)
  return isMixed ? [{ path, a: isTree(a) ? undefined : a, b: isTree(b) ? undefined : b }, ...inside] : inside
}

const isTree = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
