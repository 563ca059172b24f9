import { type GetPromptResult, type Prompt, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { ServiceError } from '../../protocol/errors.ts'
import { NODE_TYPES } from '../../threads/nodes/types/index.ts'
import { mayDo } from '../auth/principal.ts'
import { wholeRun } from '../http/parse/short-ids.ts'
import { textOf } from './results.ts'
import { nodesOf, recordOf, shownNode } from './run-records.ts'
import type { ToolContext } from './tool.ts'
import { inTools } from './tool-hints.ts'

const GOAL_CHARACTERS = 10_000

interface Asked extends Prompt {
  text(args: Readonly<Record<string, string>>, context: ToolContext): string | Promise<string>
}

const PROMPTS: readonly Asked[] = [
  {
    name: 'write_a_flow',
    title: 'Write a flow',
    description: 'Plans, writes, validates, saves and tries a flow.',
    arguments: [
      { name: 'goal', description: 'What the flow is to do.', required: true },
      { name: 'flow', description: 'The name of the flow, new or there already.', required: false },
    ],
    text: ({ goal = '', flow }) =>
      [
        `Write a flow that does this: ${goal.slice(0, GOAL_CHARACTERS)}`,
        flow === undefined ? 'Choose a short name for it; list_flows shows which are taken.' : `Its name is "${flow}".`,
        '',
        '1. Read the guides flow-document and bodies (read_guide). If the flow is there already, read it (read_flow).',
        `2. Choose node types. There are: ${NODE_TYPES.map(({ name }) => name).join(', ')}. read_node_type shows the settings and ports of one.`,
        '3. Write the document. Prefer few nodes with short bodies. Give each port the narrowest dtype.',
        '4. Check it with validate_flow, and correct every place that it names.',
        '5. Save it with save_flow and base_version (0 for a new flow).',
        '6. Try it: start_run with inputs, follow_run, and compare the result with the goal. Look at list_issues.',
        'Say what you built, what you tried, and what is left open.',
      ].join('\n'),
  },
  {
    name: 'why_did_this_run_fail',
    title: 'Why did this run fail?',
    description: 'Explains the failure of a run from its record, and proposes a change.',
    arguments: [{ name: 'run', description: 'The id of the run, or the first characters of it.', required: true }],
    text: async ({ run = '' }, { engine }) => {
      const id = await wholeRun(engine.runs, run)
      const record = {
        ...(await recordOf(await engine.runs.text(id))).shown,
        nodes: ((await nodesOf(engine, id)) ?? []).map(node => shownNode(node)),
      }
      return [
        `Explain why the run ${id} failed, and what to change. Its record:`,
        await textOf(record),
        '',
        'Read the sources of the nodes that failed (read_flow with node), the log (read_run_logs) and what the codes mean (explain_error).',
        'compare_runs with the last run that succeeded (list_runs) shows what changed.',
        'Say in two sentences what happened and why. Then propose the smallest change; do not save it without being asked to.',
      ].join('\n')
    },
  },
]

export const listPrompts = ({ caller }: ToolContext): { prompts: Prompt[] } => ({
  prompts: mayDo(caller, 'read') ? PROMPTS.map(({ text: _, ...prompt }) => prompt) : [],
})

export async function getPrompt(
  context: ToolContext,
  name: string,
  args: Readonly<Record<string, string>>,
): Promise<GetPromptResult> {
  const prompt = PROMPTS.find(one => one.name === name)
  if (prompt === undefined)
    throw refused(`There is no prompt ${JSON.stringify(name.slice(0, 100))}; prompts/list lists them.`)
  if (!mayDo(context.caller, 'read')) throw refused('Prompts need the scope "read".', 'forbidden')
  const missing = prompt.arguments?.find(argument => argument.required && !args[argument.name])
  if (missing !== undefined) throw refused(`The prompt ${name} needs the argument "${missing.name}".`)
  try {
    const text = await prompt.text(args, context)
    return { description: prompt.description, messages: [{ role: 'user', content: { type: 'text', text } }] }
  } catch (error) {
    if (error instanceof ServiceError) throw refused(inTools(error.code, error.detail), error.code)
    throw error
  }
}

const refused = (message: string, code = 'validation'): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, message, { code })
