import type { CallToolResult } from '@modelcontextprotocol/server'
import { ServiceError } from '../../protocol/errors.ts'
import { type Checker, createChecker } from '../../protocol/values/explain.ts'
import { mayDo } from '../auth/principal.ts'
import { textOf } from './results.ts'
import type { Tool, ToolContext } from './tool.ts'
import { inTools } from './tool-hints.ts'

/** Compiled with the first call of each. */
const checkers = new WeakMap<Tool, Checker>()

/** One call of a tool: who may, then the arguments, then the tool. What a caller can get wrong is an answer, too: the model reads it. */
export async function callTool(
  tool: Tool,
  args: unknown,
  context: ToolContext,
  onDefect: (error: unknown) => void,
): Promise<CallToolResult> {
  try {
    assertScope(tool, context)
    assertArguments(tool, args)
    const text = await textOf(await tool.run(args as never, context))
    return { content: [{ type: 'text', text }] }
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'internal') onDefect(error)
    return refusal(error instanceof ServiceError ? error : new ServiceError('internal'))
  }
}

function assertScope({ name, scope }: Tool, { caller }: ToolContext): void {
  if (mayDo(caller, scope)) return
  const has = caller.scopes.length === 0 ? 'no scope' : caller.scopes.join(', ')
  throw new ServiceError('forbidden', `The tool ${name} needs the scope "${scope}"; you have ${has}.`)
}

function assertArguments(tool: Tool, args: unknown): void {
  let checker = checkers.get(tool)
  if (checker === undefined) checkers.set(tool, (checker = createChecker(tool.input)))
  const errors = checker.refusals(args, 'arguments')
  if (errors.length > 0) throw new ServiceError('validation', `The arguments of ${tool.name} were refused.`, { errors })
}

function refusal(error: ServiceError): CallToolResult {
  const { code, errors, retry_after_s } = error
  const wait = retry_after_s === null ? {} : { retry_after_s }
  const told = { code, message: inTools(code, error.detail), ...(errors.length > 0 ? { errors } : {}), ...wait }
  return { isError: true, content: [{ type: 'text', text: JSON.stringify(told) }] }
}
