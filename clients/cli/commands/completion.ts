import { Argument, type Command } from 'commander'
import { splitQualified } from '../../../protocol/names.ts'
import type { Client } from '../../client/client.ts'
import { type Context, connect } from '../context.ts'

const MOST = 200

/** Each script calls `svc complete` with the words so far. The last word, which may be empty, is completed. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_svc() {
  local IFS=$'\\n'
  COMPREPLY=($(svc complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _svc svc`,
  zsh: `#compdef svc
_svc() {
  local -a found
  found=("\${(@f)$(svc complete -- "\${(@)words[2,$CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[1]}" ]]; then compadd -a found; else _files; fi
}
if [[ "\${funcstack[1]}" = _svc ]]; then _svc "$@"; else compdef _svc svc; fi`,
  fish: `function __svc_complete
  set -l words (commandline -opc) (commandline -ct)
  svc complete -- $words[2..] 2>/dev/null
end
complete -c svc -f -a '(__svc_complete)'`,
}

export function addCompletion(program: Command, context: Context): void {
  program
    .command('completion')
    .description('print a script that makes a shell complete commands, options and names')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
    .action((shell: string) => context.output.lines([SCRIPTS[shell]!]))
  program
    .command('complete', { hidden: true })
    .description('print completions of the last word; used by the completion scripts')
    .argument('[words...]', 'the words after svc; the last one may be incomplete')
    .action(async (words: string[], _options: object, command: Command) => {
      const found = await candidates(program, words, () => connect(context, command))
      context.output.lines(found.slice(0, MOST))
    })
}

async function candidates(program: Command, words: readonly string[], connected: () => Client): Promise<string[]> {
  const typed = words.at(-1) ?? ''
  const path: string[] = []
  let command = program
  let given = 0
  for (let at = 0; at < words.length - 1; at++) {
    const word = words[at]!
    if (word.startsWith('-')) {
      const option = [...command.options, ...program.options].find(({ long, short }) => long === word || short === word)
      if (option?.required) at++
      continue
    }
    const found = command.commands.find(each => each.name() === word)
    if (found === undefined) given++
    else {
      command = found
      path.push(word)
    }
  }
  const starting = (names: readonly string[]) => names.filter(name => name.startsWith(typed))
  if (typed.startsWith('-')) return starting([...command.options, ...program.options].map(each => each.long ?? ''))
  if (command.commands.length > 0)
    return starting(command.commands.filter(each => each.name() !== 'complete').map(each => each.name()))
  const { registeredArguments } = command
  const last = registeredArguments.at(-1)
  const argument = registeredArguments[given] ?? (last?.variadic ? last : undefined)
  if (argument === undefined) return []
  try {
    return starting(await namesOf(connected(), path, argument.name(), typed))
  } catch {
    // Without an engine there are no names; a shell must not show an error.
    return []
  }
}

async function namesOf(client: Client, path: readonly string[], argument: string, typed: string): Promise<string[]> {
  const [group, verb] = path
  const flows = async () => (await client.flows.list()).items.map(({ name }) => name)
  const messages = async () => (await client.messages.list({ most: MOST * 10 })).items.map(({ name }) => name)
  if (argument === 'flow' || (group === 'flows' && argument === 'name' && verb !== 'put')) return flows()
  if (group === 'flows' && argument === 'node.setting') return []
  if (group === 'tail') return [...(await flows()), ...(await messages())]
  if (argument === 'message' || group === 'publish' || (group === 'messages' && verb === 'get'))
    return argument === 'value' ? [] : messages()
  if (argument === 'flow.node') return nodes(client, typed, await flows())
  if (argument === 'run' || (verb === 'diff' && group === 'runs'))
    return (await client.runs.page({}, MOST)).items.map(({ id }) => id)
  if (argument === 'cascade') return (await client.cascades.list({ limit: MOST })).items.map(({ id }) => id)
  if (group === 'nodes' && argument === 'type') return (await client.nodes.types()).items.map(({ name }) => name)
  if (argument === 'dashboard' || argument === 'dashboards')
    return (await client.dashboards.list()).items.map(({ name }) => name)
  if (argument === 'panel') return (await client.panels.list()).items.map(({ name }) => name)
  if (group === 'flavors') return (await client.flavors.list()).items.map(({ name }) => name)
  if (group === 'secrets') return (await client.secrets.list()).items.map(({ name }) => name)
  if (argument === 'digest') return (await client.artifacts.list(MOST)).items.map(({ digest }) => digest)
  if (group === 'tokens' && verb === 'revoke') return (await client.tokens.list()).items.map(({ name }) => name)
  if (argument === 'client_id') return (await client.clients.list()).items.map(({ client_id }) => client_id)
  if (group === 'users' && argument === 'name' && verb !== 'add')
    return (await client.users.list()).items.map(({ name }) => name)
  return []
}

/** Completes `boiler.` until the flow is complete, since reading every document would be slow. */
async function nodes(client: Client, typed: string, flows: readonly string[]): Promise<string[]> {
  const flow = splitQualified(`${typed}x`)?.flow
  if (flow === undefined || !flows.includes(flow)) return flows.map(name => `${name}.`)
  const { document } = await client.flows.get(flow)
  return document.nodes.map(({ id }) => `${flow}.${id}`)
}
