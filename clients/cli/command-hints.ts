import { type ErrorCode, errorTable } from '../../protocol/errors.ts'

/** What to do next, in commands, for refusals whose hint in the table speaks of requests. */
const HINTS: { readonly [Code in ErrorCode]?: string } = {
  not_found: 'The engine may have another release: compare "svc -v" with "svc status".',
  method_not_allowed: 'The engine may have another release: compare "svc -v" with "svc status".',
  upgrade_required: 'The engine may have another release: compare "svc -v" with "svc status".',
  malformed_request: 'Check the arguments; "svc help <command>" has examples.',
  malformed_json: 'Check the arguments; "svc help <command>" has examples.',
  malformed_frame: 'The engine may have another release: compare "svc -v" with "svc status".',
  validation: 'Correct what is named here:',
  unsupported_media_type: 'The engine may have another release: compare "svc -v" with "svc status".',
  headers_too_large: 'Give shorter names or a shorter token.',
  url_too_long: 'Give shorter names.',
  unauthenticated: 'Sign in with "svc login <address>", or give SVC_TOKEN.',
  token_expired: 'Sign in again with "svc login <address>".',
  host_refused: 'Use the address that the engine listens on, or name this host in its ALLOWED_HOSTS.',
  rate_limited: 'Wait a minute, then try again.',
  too_many_connections: 'End some commands or clients, then try again.',
  flow_not_found: '"svc flows list" lists the flows.',
  flow_disabled: 'Enable it with "svc flows enable <flow>".',
  flow_has_live_run: 'Cancel the run or wait for it: "svc runs list <flow> --status running".',
  commit_not_found: '"svc flows history <flow>" lists the commits.',
  unknown_node_type: '"svc nodes types" lists the types of nodes.',
  hook_busy: 'Wait a second, then send it again.',
  no_media: '"svc messages list" lists the messages; frames have those that carry an image, audio, video or artifact.',
  unknown_flavor: '"svc flavors list" lists the flavors; "svc flavors put <name>" creates one.',
  unknown_secret: '"svc secrets list" lists the secrets; "svc secrets set <name>" stores one.',
  secret_not_found: '"svc secrets list" lists the secrets.',
  secret_unreadable: 'Put key.pem back from its backup, or store the value again with "svc secrets set <name>".',
  message_not_found: '"svc messages list" lists the messages.',
  value_too_large: 'Store it with "svc artifacts put <file>", and publish the reference that it prints.',
  backlogged: 'Wait, then publish again; "svc status" shows the backlog.',
  node_not_found: '"svc flows get <flow>" shows the nodes.',
  group_not_found: '"svc runs list --json" prints runs with their groups.',
  tag_not_found: '"svc runs list --json" prints runs with their tags.',
  metric_not_found: '"svc export metrics --list" prints the names for the same selection.',
  body_not_loaded: 'Check its imports, then run "svc modules refresh".',
  interrupted: 'Check what was done, then run "svc cascades rerun" or "svc retry".',
  cascade_not_found: '"svc cascades list" lists the recorded cascades.',
  root_value_gone: 'Publish a new value of the message instead: "svc publish <message> <value>".',
  run_not_found: '"svc runs list" lists the runs.',
  bad_input: 'Give the right ones with -p <input>=<value>:',
  run_ended: 'Run it again with "svc retry <run>".',
  flavor_not_found: '"svc flavors list" lists the flavors.',
  dashboard_not_found: '"svc dashboards list" lists the dashboards.',
  dashboard_in_use: 'Take it off the panels first: "svc panels set <panel> <dashboards>".',
  version_not_found: '"svc dashboards history <dashboard>" lists the versions that are kept.',
  unknown_tile_type: '"svc dashboards types" lists the types of tiles.',
  panel_not_found: '"svc panels list" lists the panels.',
  artifact_not_found: '"svc artifacts list" lists what is stored; "svc artifacts put <file>" stores it.',
  artifact_damaged: 'Store it again with "svc artifacts put <file>"; "svc artifacts verify" lists all damaged ones.',
  token_not_found: '"svc tokens list" lists the lasting tokens.',
  client_not_found: '"svc clients list" lists the clients.',
  reset_refused: 'Ask an administrator of the engine for a new link.',
  user_exists: 'Choose another name; "svc users list" lists the users.',
  user_not_found: '"svc users list" lists the users.',
}

/** The text of a recorded error in words of the command line, with its code. */
export const recordedError = ({ code, message }: { readonly code: string; readonly message: string }): string =>
  `${inCommands(code, message)} (${code})`

/** The text of a refusal, with the hint of the table in words of the command line. */
export function inCommands(code: string | null, text: string): string {
  const hint = code === null ? undefined : HINTS[code as ErrorCode]
  if (hint === undefined) return text
  const { next } = errorTable[code as ErrorCode]
  return text.endsWith(next) ? `${text.slice(0, -next.length)}${hint}` : text
}
