import { type ErrorCode, errorTable } from '../../protocol/errors.ts'

/** What to do next, in tools, for refusals whose hint in the table speaks of requests. */
const HINTS: { readonly [Code in ErrorCode]?: string } = {
  forbidden: 'Ask the owner of this client for the scope, or leave it to the user.',
  flow_not_found: 'list_flows lists the flows.',
  flow_disabled: 'A user enables it with "svc flows enable", or in the app.',
  flow_has_live_run: 'cancel_run cancels the run; or wait with follow_run.',
  stale_version:
    'read_flow reads the newest version; apply the change to it, then save_flow with its version as base_version.',
  unknown_node_type: 'list_node_types lists the types.',
  unknown_flavor: 'Leave the flavor out and give numbers, or ask the user to create it.',
  language_unavailable: 'Write the body in ts or js.',
  message_not_found: 'list_messages lists the messages.',
  backlogged: 'Wait a second, then publish again.',
  node_not_found: 'read_flow shows the nodes of a flow.',
  metric_not_found: 'read_metrics without a name lists the names.',
  run_not_found: 'list_runs lists the runs.',
  run_ended: 'start_run starts a new one.',
  run_not_ended: 'follow_run waits for its end; cancel_run ends it.',
  bad_input: 'read_flow shows the inputs of the flow; correct those that are named in errors.',
  cascade_not_found: 'list_events shows what happened.',
  validation: 'Correct the places named in errors.',
  internal: 'This is a defect of the engine; tell the user to look into serve.log.',
}

/** What to do next about the code, for whoever calls tools. */
export const nextOf = (code: ErrorCode): string => HINTS[code] ?? errorTable[code].next

/** The text of a refusal, with the hint of the table in words of tools. */
export function inTools(code: ErrorCode, text: string): string {
  const hint = HINTS[code]
  if (hint === undefined) return text
  const { next } = errorTable[code]
  return text.endsWith(next) ? `${text.slice(0, -next.length)}${hint}` : text
}
