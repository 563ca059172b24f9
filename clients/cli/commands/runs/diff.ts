import type { Command } from 'commander'
import type { Run, RunNode } from '../../../../protocol/nouns/run.ts'
import { type Context, connect } from '../../context.ts'
import { valueText } from '../../output/run-text.ts'
import { table } from '../../output/table.ts'

interface Difference {
  path: string
  /** Absent where the run has no such leaf. */
  a?: unknown
  b?: unknown
}

export function addRunsDiff(runs: Command, context: Context): void {
  runs
    .command('diff')
    .description('compare two runs: flow, code, inputs, nodes, results')
    .argument('<a>', 'the id of the first run')
    .argument('<b>', 'the id of the second run')
    .option('--json', 'print JSON')
    .action(async (a: string, b: string, options: { json?: boolean }, command: Command) => {
      const { output } = context
      const client = connect(context, command)
      const facts = async (id: string) => factsOf(await client.runs.get(id), (await client.runs.nodes(id)).items)
      const found = differences(...(await Promise.all([facts(a), facts(b)])))
      if (options.json) return output.json({ a, b, differences: found })
      if (found.length === 0) return output.note('the runs differ only in their times')
      output.table(
        table(
          found,
          [
            { title: 'what', cell: ({ path }) => path },
            { title: a, cell: each => shown(each.a) },
            { title: b, cell: each => shown(each.b) },
          ],
          output.width,
        ),
      )
    })
}

const shown = (value: unknown): string => (value === undefined ? '' : valueText(value))

/** What runs are compared by: not when they were, nor how long they took. */
const factsOf = (run: Run, nodes: readonly RunNode[]): Record<string, unknown> => ({
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
function differences(a: unknown, b: unknown, path = ''): Difference[] {
  if (!isTree(a) && !isTree(b)) return JSON.stringify(a) === JSON.stringify(b) ? [] : [{ path, a, b }]
  const [left, right] = [isTree(a) ? a : {}, isTree(b) ? b : {}]
  const keys = new Set([...Object.keys(left), ...Object.keys(right)])
  const inside = [...keys].flatMap(key => differences(left[key], right[key], path === '' ? key : `${path}.${key}`))
  // Something against an object: the value itself is a difference, beside the object's members.
  const isMixed = (!isTree(a) && a !== undefined && a !== null) || (!isTree(b) && b !== undefined && b !== null)
  return isMixed ? [{ path, a: isTree(a) ? undefined : a, b: isTree(b) ? undefined : b }, ...inside] : inside
}

const isTree = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
