import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import type { SavedFlow, SaveFlow } from '../../../../protocol/nouns/flow.ts'
import { type Context, connect } from '../../context.ts'
import { countOf } from '../../counts.ts'
import { usage } from '../../failure.ts'
import { readFlowFolder } from '../../flow-folder.ts'
import type { Output } from '../../output/output.ts'

interface PutOptions {
  readonly message?: string
  readonly baseVersion?: number
  readonly json?: boolean
}

export function addFlowsPut(flows: Command, context: Context): void {
  flows
    .command('put')
    .description('save a flow: create or replace it')
    .argument('<name>', 'the flow')
    .argument('<file>', 'a flow document in JSON, the output of flows get --json, or a folder; - reads standard input')
    .option('--message <text>', 'the reason for the change, for the history')
    .option('--base-version <version>', 'refuse the save when the flow has another version', countOf('--base-version'))
    .option('--json', 'print JSON')
    .action(async (name: string, file: string, options: PutOptions, command: Command) => {
      const document = isFolder(context, file)
        ? readFlowFolder(resolve(context.cwd, file))
        : documentOf(parseFile(file, await readWhole(context, file)))
      const { message, baseVersion } = options
      const saved = await connect(context, command).flows.save(name, {
        document,
        ...(message === undefined ? {} : { message }),
        ...(baseVersion === undefined ? {} : { base_version: baseVersion }),
      } as SaveFlow)
      if (options.json) return context.output.json(saved)
      printSaved(context.output, saved)
    })
}

/** What a save did, for people; its issues go to stderr. */
export function printSaved(output: Output, saved: SavedFlow): void {
  const part = (what: string, nodes: readonly string[]) => (nodes.length === 0 ? [] : [`${what} ${nodes.join(', ')}`])
  const nodes = [...part('restarted', saved.restarted), ...part('kept', saved.kept)]
  output.lines([
    `${saved.name} version ${saved.version}, commit ${saved.commit}`,
    ...(nodes.length > 0 ? [nodes.join('; ')] : []),
  ])
  for (const { code, node, message } of saved.issues)
    output.note(`${node === null ? '' : `${node}: `}${message} (${code})`)
}

const isFolder = ({ cwd }: Context, file: string): boolean =>
  file !== '-' && statSync(resolve(cwd, file), { throwIfNoEntry: false })?.isDirectory() === true

async function readWhole(context: Context, file: string): Promise<string> {
  if (file !== '-') {
    try {
      return readFileSync(resolve(context.cwd, file), 'utf8')
    } catch (error) {
      throw usage(`${file} cannot be read (${(error as Error).message}).`)
    }
  }
  if (context.stdin.isTTY) throw usage('Standard input is a terminal; name the file that holds the document.')
  return text(context.stdin)
}

function parseFile(file: string, content: string): unknown {
  try {
    return JSON.parse(content)
  } catch (error) {
    throw usage(`${file === '-' ? 'Standard input' : file} is not valid JSON (${(error as Error).message}).`)
  }
}

function documentOf(parsed: unknown): unknown {
  // A whole flow has a `nodes` too, but that is their number.
  const isFlow = typeof parsed === 'object' && parsed !== null && 'document' in parsed
  return isFlow ? parsed.document : parsed
}
