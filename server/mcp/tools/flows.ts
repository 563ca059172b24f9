import Type, { type TSchema } from 'typebox'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { Flow, FlowSummary } from '../../../protocol/nouns/flow.ts'
import type { FlowNode } from '../../../protocol/nouns/flow-document.ts'
import type { Issue } from '../../../protocol/nouns/issue.ts'
import type { List } from '../../../protocol/nouns/list.ts'
import { type Caller, mayDo } from '../../auth/principal.ts'
import type { Engine } from '../../engine.ts'
import { nextTurn } from '../../watch/slices.ts'
import { closed, flowName, page, pageOf } from '../arguments.ts'
import { listOf, shortened } from '../results.ts'
import { type Tool, tool } from '../tool.ts'

type Flows = Engine['flows']

const mayCode = (caller: Caller): 'edit' | 'code' => (mayDo(caller, 'code') ? 'code' : 'edit')

/** The engine checks it, and says what is wrong with each place of it. */
const document: TSchema = Type.Object(
  {},
  {
    additionalProperties: true,
    description:
      'The whole flow document: {nodes: [{id, type, source?, settings?, ports: {inputs, outputs}}], inputs?: [{message, dtype}]}.',
  },
)

const SOURCE_SHOWN = 400
const SOURCE_PART = 16_000
const SETTINGS_SHOWN = 400

const ISSUES_SHOWN = 5
const FLOWS_AT_ONCE = 500
const shownIssue = ({ code, message, node, advisory }: Issue) => ({
  code,
  node,
  advisory,
  message: shortened(message, 500),
})

const shownSummary = ({ name, enabled, version, nodes, updated_at, updated_by, issues }: FlowSummary) => ({
  ...{ name, enabled, version, nodes, updated_at, updated_by },
  ...(issues.length === 0 ? {} : { issues: issues.slice(0, ISSUES_SHOWN).map(shownIssue), issue_count: issues.length }),
})

/** Whole while the document is short; of a long one each node by its beginning. */
function shownNodes(nodes: readonly FlowNode[], offset: number) {
  const rest = nodes.slice(offset)
  const whole = listOf(rest, nodes.length, offset)
  if (whole.next_offset === undefined) return whole
  return {
    ...listOf(Iterator.from(rest).map(outline), nodes.length, offset),
    shortened: 'Long sources and settings are cut. read_flow with node shows one node whole.',
  }
}

const outline = ({ source, settings, ...node }: FlowNode) => ({
  ...node,
  ...(source === undefined || source === null ? {} : { source: shortened(source, SOURCE_SHOWN) }),
  ...(settings === undefined ? {} : { settings: shortened(settings, SETTINGS_SHOWN) }),
})

/** Of a long one the nodes from `offset` on. */
export function shownFlow(flow: Flow, offset = 0) {
  const { nodes, ...rest } = flow.document
  return {
    ...shownSummary(flow),
    defined_in_code: flow.origin !== null,
    waiting: flow.backlog.waiting,
    document: { ...rest, nodes: shownNodes(nodes, offset) },
    down: flow.node_status.filter(({ down }) => down !== null).map(({ id, down }) => ({ node: id, down })),
    failing: flow.node_status.filter(({ errors }) => errors > 0).map(({ id, errors }) => ({ node: id, errors })),
  }
}

function nodeOf({ name, document, node_status }: Flow, id: string, from: number) {
  const node = document.nodes.find(one => one.id === id)
  if (node === undefined) throw new ServiceError('node_not_found', `Flow "${name}" has no node "${id}".`)
  return { node: { ...node, ...partOf(node.source ?? '', from) }, status: node_status.find(one => one.id === id) }
}

/** As much of a source as has room. */
function partOf(source: string, from: number) {
  if (source === '') return {}
  const part = source.slice(from, from + SOURCE_PART)
  const end = from + part.length
  if (from === 0 && end === source.length) return { source }
  const more = end < source.length ? `; for more, ask with source_from ${end}` : ''
  return { source: part, source_part: `characters ${from} to ${end} of ${source.length}${more}` }
}

export const flowTools: readonly Tool[] = [
  tool({
    name: 'list_flows',
    title: 'List flows',
    description: 'Lists the flows by name, with their version, number of nodes and issues.',
    scope: 'read',
    input: Type.Object(page, closed),
    run: (args, { engine }) => {
      const { items, count } = engine.flows.list(pageOf(args))
      return listOf(items.map(shownSummary), count, pageOf(args).offset)
    },
  }),
  tool({
    name: 'read_flow',
    title: 'Read a flow',
    description:
      'Returns a flow: version (for base_version of save_flow), inputs, nodes with their sources, status of the nodes, issues. With node: that node alone, whole.',
    scope: 'read',
    input: Type.Object(
      {
        name: flowName,
        node: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Id of a node.' })),
        source_from: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: limits.SOURCE_BYTES,
            description: 'With node: the character at which to begin in a long source.',
          }),
        ),
        offset: page.offset,
      },
      closed,
    ),
    run: ({ name, node, source_from = 0, offset = 0 }, { engine }) => {
      const flow = engine.flows.get(name)
      return node === undefined
        ? shownFlow(flow, offset)
        : { flow: name, version: flow.version, ...nodeOf(flow, node, source_from) }
    },
  }),
  tool({
    name: 'validate_flow',
    title: 'Validate a flow document',
    description:
      'Checks a flow document as save_flow would, and saves nothing. Returns which nodes a save would restart, keep and remove, or every place that is wrong.',
    // It takes its turn with saves, and each body is compiled.
    scope: 'edit',
    reads_only: true,
    input: Type.Object({ name: flowName, document }, closed),
    run: ({ name, document }, { engine, caller }) =>
      engine.flows.check(name, document as never, mayCode(caller)).then(change => ({ valid: true, ...change })),
  }),
  tool({
    name: 'save_flow',
    title: 'Save a flow',
    description:
      'Creates or replaces a flow and starts it. Give the version that you have read as base_version (0 for a new flow): a save that somebody else has overtaken is refused. New or changed bodies need the scope "code". Validate it first.',
    scope: 'edit',
    input: Type.Object(
      {
        name: flowName,
        document,
        base_version: Type.Integer({
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'The version that read_flow returned; 0: there is no such flow yet.',
        }),
        message: Type.Optional(Type.String({ maxLength: 1000, description: 'What was changed, and why.' })),
      },
      closed,
    ),
    run: async ({ name, document, base_version, message }, { engine, caller, done }) => {
      const request = { document: document as never, base_version, ...(message === undefined ? {} : { message }) }
      const saved = await engine.flows.save(name, request, caller.actor, mayCode(caller))
      done('flow_saved', `flow:${name}`)
      return { ...saved, issues: saved.issues.map(shownIssue) }
    },
  }),
  tool({
    name: 'list_issues',
    title: 'List issues',
    description:
      'Lists what is wrong with flows: nodes that fail or are down, unknown messages, cycles. explain_error says what a code means.',
    scope: 'read',
    input: Type.Object({ flow: Type.Optional(flowName), ...page }, closed),
    run: async ({ flow, ...args }, { engine }) => {
      const { limit, offset } = pageOf(args)
      const flows = flow === undefined ? await everyFlow(engine.flows) : [engine.flows.get(flow)]
      const all = flows.flatMap(({ name, issues }) => issues.map(issue => ({ flow: name, ...shownIssue(issue) })))
      return listOf(all.slice(offset, offset + limit), all.length, offset)
    },
  }),
]

/** A page of them ends where it is long; the front does other things between two pages. */
async function everyFlow(flows: Flows): Promise<FlowSummary[]> {
  const all: FlowSummary[] = []
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const { items, next }: List<FlowSummary> = flows.list({ limit: FLOWS_AT_ONCE, offset })
    all.push(...items.filter(({ issues }) => issues.length > 0))
    offset = next
    await nextTurn()
  }
  return all
}
