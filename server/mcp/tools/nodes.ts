import Type from 'typebox'
import { type ErrorCode, errorTable, ServiceError } from '../../../protocol/errors.ts'
import { splitQualified } from '../../../protocol/names.ts'
import { didYouMean } from '../../../protocol/nearest.ts'
import type { NodeError } from '../../../protocol/nouns/node-error.ts'
import { NODE_TYPES } from '../../../threads/nodes/types/index.ts'
import type { Engine } from '../../engine.ts'
import { wholeRun } from '../../http/parse/short-ids.ts'
import { closed, runId } from '../arguments.ts'
import { GUIDES, guide, nodeTypeGuide } from '../guides.ts'
import { shortened } from '../results.ts'
import { nodesOf, runOf, shownError } from '../run-records.ts'
import { type Tool, tool } from '../tool.ts'
import { nextOf } from '../tool-hints.ts'

const isCode = (code: string): code is ErrorCode => Object.hasOwn(errorTable, code)

const meaning = (code: string) =>
  isCode(code) ? { code, means: errorTable[code].title, do_next: nextOf(code) } : { code, means: 'not known here' }

const ERRORS_SHOWN = 3
const INPUTS_SHOWN = 2_000
const STACK_SHOWN = 2_000
const SOURCE_SHOWN = 8_000

const shownNodeError = ({ code, message, stack, ts, inputs }: NodeError) => ({
  ...meaning(code),
  message,
  at: ts,
  stack: shortened(stack, STACK_SHOWN),
  inputs: shortened(inputs, INPUTS_SHOWN),
})

const sourceOf = ({ flows }: Engine, flow: string, node: string) => {
  const { source, missing } = flows.source(flow, node)
  return missing ? {} : { source: shortened(source, SOURCE_SHOWN) }
}

async function ofNode(engine: Engine, node: string) {
  const { items, count } = await engine.nodes.errors(node)
  const { flow, name } = splitQualified(node)!
  return {
    node,
    errors: count,
    newest: items.slice(0, ERRORS_SHOWN).map(shownNodeError),
    ...sourceOf(engine, flow, name),
  }
}

async function ofRun(engine: Engine, text: string) {
  const id = await wholeRun(engine.runs, text)
  const run = await runOf(engine, id)
  if (run.error === null) return { run: id, status: run.status, note: 'the run has no error' }
  const failed = ((await nodesOf(engine, id)) ?? []).filter(({ error }) => error !== null)
  return {
    run: id,
    flow: run.flow,
    ...meaning(run.error.code),
    error: shownError(run.error),
    nodes: failed.map(({ node, error }) => ({ node, ...meaning(error!.code), error: shownError(error!) })),
  }
}

export const nodeTools: readonly Tool[] = [
  tool({
    name: 'list_node_types',
    title: 'List node types',
    description: 'Lists the types of nodes with a sentence each. read_node_type shows one with its settings and ports.',
    scope: 'read',
    input: Type.Object({}, closed),
    run: () => NODE_TYPES.map(({ name, summary }) => ({ name, summary })),
  }),
  tool({
    name: 'read_node_type',
    title: 'Read about a node type',
    description: 'Returns the page of a type of node: its settings, its ports, an example.',
    scope: 'read',
    input: Type.Object(
      { name: Type.String({ minLength: 1, maxLength: 64, description: 'As list_node_types has it.' }) },
      closed,
    ),
    run: async ({ name }) => {
      const page = await nodeTypeGuide(name)
      if (page !== null) return page
      const names = NODE_TYPES.map(type => type.name)
      throw new ServiceError('unknown_node_type', `There is no node type "${name}".${didYouMean(name, names)}`)
    },
  }),
  tool({
    name: 'read_guide',
    title: 'Read a guide',
    description:
      'Returns a page of the documentation. Read flow-document before you write a flow, and bodies before you write the source of a node.',
    scope: 'read',
    input: Type.Object({ name: Type.Enum([...GUIDES]) }, closed),
    run: ({ name }) => guide(name),
  }),
  tool({
    name: 'explain_error',
    title: 'Explain an error',
    description:
      'Says what an error means and what to do: of a code, of the last failures of a node with their inputs and its source, or of a run that failed. Give one of the three.',
    scope: 'read',
    input: Type.Object(
      {
        code: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Such as dtype_mismatch.' })),
        node: Type.Optional(Type.String({ minLength: 3, maxLength: 129, description: '<flow>.<node>' })),
        run: Type.Optional(runId),
      },
      closed,
    ),
    run: ({ code, node, run }, { engine }) => {
      if (code !== undefined) return meaning(code)
      if (node !== undefined) return ofNode(engine, node)
      if (run !== undefined) return ofRun(engine, run)
      throw new ServiceError('validation', 'The arguments were refused.', {
        errors: [{ loc: 'arguments', msg: 'needs a code, a node or a run' }],
      })
    },
  }),
]
