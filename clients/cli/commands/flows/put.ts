import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { SavedFlow, SaveFlow } from '../../../../protocol/nouns/flow.ts'
import { type Context, connect } from '../../context.ts'
import { countOf } from '../../counts.ts'
import { readFlowFolder } from '../../flow-folder.ts'
import { documentOf, readJsonFile } from '../../json-file.ts'
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
        : documentOf(await readJsonFile(context, file))
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
