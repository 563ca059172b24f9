import type { Command } from 'commander'
import type { Static } from 'typebox'
import type { FlowCommit, FlowCommitDetail, FlowDifference } from '../../../../protocol/nouns/flow.ts'
import { EXIT } from '../../../../protocol/settings.ts'
import type { Client } from '../../../client/client.ts'
import { type Context, connect } from '../../context.ts'
import { countOf } from '../../counts.ts'
import { Failure } from '../../failure.ts'
import { shortTime } from '../../output/figures.ts'
import type { Output } from '../../output/output.ts'
import { table } from '../../output/table.ts'
import { printable } from '../../output/text.ts'

const SHOWN = 20
const SHORT_COMMIT = 12
const WHOLE_COMMIT = 64

interface HistoryOptions {
  readonly limit?: number
  readonly json?: boolean
}

export function addFlowsHistory(flows: Command, context: Context): void {
  flows
    .command('history')
    .description("a flow's commits, the newest first; with a commit, what it changed")
    .argument('<name>', 'the flow')
    .argument('[commit]', 'the commit, or its first characters')
    .option('--limit <count>', `print at most this many (default: ${SHOWN})`, countOf('--limit'))
    .option('--json', 'print JSON')
    .action(async (name: string, commit: string | undefined, options: HistoryOptions, command: Command) => {
      const { output } = context
      const client = connect(context, command)
      if (commit === undefined) {
        const list = await client.flows.history(name, options.limit ?? SHOWN)
        return options.json ? output.json(list) : output.table(commits(list.items, output.width))
      }
      const whole = await findCommit(client, name, commit)
      const detail = await client.flows.commit(name, whole)
      if (options.json) return output.json(detail)
      printDetail(output, detail)
    })
}

/** The whole commit that begins with `start`. */
export async function findCommit(client: Client, name: string, start: string): Promise<string> {
  if (start.length >= WHOLE_COMMIT) return start
  const { items } = await client.flows.history(name)
  const matches = items.filter(({ commit }) => commit.startsWith(start))
  if (matches.length === 1) return matches[0]!.commit
  const problem = matches.length === 0 ? `No commit of ${name} begins` : `${matches.length} commits of ${name} begin`
  throw new Failure(EXIT.refused, `${problem} with ${start}. "svc flows history ${name}" lists them.`)
}

const commits = (items: readonly FlowCommit[], width: number | undefined): string[] =>
  table(
    items,
    [
      { title: 'commit', cell: ({ commit }) => commit.slice(0, SHORT_COMMIT) },
      { title: 'version', align: 'right', cell: ({ version }) => String(version) },
      { title: 'at', cell: ({ at }) => shortTime(at) },
      { title: 'by', cell: ({ author }) => author },
      { title: 'did', cell: ({ action }) => action },
      { title: 'message', cell: ({ message }) => message },
    ],
    width,
  )

function printDetail(output: Output, detail: Static<typeof FlowCommitDetail>): void {
  const { commit, parent, version, at, author, action, message, diff } = detail
  output.lines(
    [
      `commit   ${commit}`,
      `parent   ${parent ?? 'none'}`,
      `version  ${version} (${action} by ${author} at ${at})`,
      ...(message === '' ? [] : [`message  ${message}`]),
    ].map(printable),
  )
  for (const difference of diff) {
    output.lines(['', output.style('bold', printable(difference.path === '' ? '(all)' : difference.path))])
    output.lines(
      differenceLines(difference).map(line => output.style(line.startsWith('-') ? 'red' : 'green', printable(line))),
    )
  }
}

/** `- before`, `+ after`; of texts of several lines without the equal lines at both ends. */
export function differenceLines(difference: Static<typeof FlowDifference>): string[] {
  const before = 'before' in difference ? linesOf(difference.before) : []
  const after = 'after' in difference ? linesOf(difference.after) : []
  const least = Math.min(before.length, after.length)
  let head = 0
  while (head < least && before[head] === after[head]) head++
  let tail = 0
  while (tail < least - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++
  const middle = (lines: readonly string[]) => lines.slice(head, lines.length - tail)
  return [...middle(before).map(line => `- ${line}`), ...middle(after).map(line => `+ ${line}`)]
}

const linesOf = (value: unknown): string[] =>
  typeof value === 'string' && value.includes('\n') ? value.split('\n') : JSON.stringify(value, null, 2).split('\n')
