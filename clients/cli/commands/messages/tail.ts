import type { Command } from 'commander'
import { isName, isQualified } from '../../../../protocol/names.ts'
import { Client, followLive } from '../../../client/client.ts'
import type { ValueFrame } from '../../../client/live/live-socket.ts'
import { type Context, engineOf } from '../../context.ts'
import { countOf } from '../../counts.ts'
import { usage } from '../../failure.ts'
import type { FoundEngine } from '../../find-engine.ts'
import { Screen, type ScreenSize } from '../../output/screen.ts'
import { Series } from '../../output/series.ts'
import { tailTable } from '../../output/tail-table.ts'
import { printable } from '../../output/text.ts'

const REDRAW_MS = 100

interface TailOptions {
  readonly count?: number
  readonly json?: boolean
}

/** Shows values: as a table on a terminal, otherwise as lines. */
interface View {
  value(frame: ValueFrame): void
  link(url: string | null): void
  notice(text: string): void
}

export function addTail(program: Command, context: Context): void {
  program
    .command('tail')
    .description('follow messages live: a table on a terminal, otherwise one line per value')
    .argument('[names...]', 'messages (<flow>.<message>) and flows (default: all flows)')
    .option('--count <count>', 'end after this many values', countOf('--count'))
    .option('--json', 'print one JSON document per line and value')
    .action(async (names: string[], options: TailOptions, command: Command) => {
      const bad = names.find(name => !isName(name) && !isQualified(name))
      if (bad !== undefined) throw usage(`${bad} is neither a flow nor a <flow>.<message>.`)
      const find = (): FoundEngine => engineOf(context, command)
      const client = new Client(find())
      const { output } = context
      const isTable = output.isTerminal && !options.json && context.environment['TERM'] !== 'dumb'
      const view = isTable ? tableView(context) : options.json ? jsonView(context) : lineView(context)
      await follow(view, client, names, options, find)
    })
}

/** Ends only by `--count`, Ctrl-C or a failure. */
async function follow(
  view: View,
  client: Client,
  given: readonly string[],
  options: TailOptions,
  find: () => FoundEngine,
): Promise<void> {
  const names = given.filter(isQualified)
  const flows = given.length > 0 ? given.filter(isName) : await everyFlow(client)
  let left = options.count ?? Number.POSITIVE_INFINITY
  const ended = Promise.withResolvers<void>()
  const socket = await followLive({
    find,
    names,
    flows,
    newFlows: given.length === 0,
    onLink: url => view.link(url),
    onNotice: text => view.notice(text),
    onFailure: ended.reject,
    onValue: frame => {
      if (left <= 0) return
      view.value(frame)
      if (--left <= 0) ended.resolve()
    },
  })
  await ended.promise
  socket.close()
}

async function everyFlow(client: Client): Promise<string[]> {
  const { items } = await client.flows.list()
  return items.map(({ name }) => name)
}

const jsonView = ({ output }: Context): View => ({ ...notes(output), value: frame => output.jsonLine(frame) })

function lineView({ output }: Context): View {
  return {
    ...notes(output),
    value: ({ ts, name, value, missed = 0 }) => {
      if (missed > 0) output.note(`${name}: ${missed} values before this one were missed`)
      output.raw(`${ts} ${name} ${JSON.stringify(value)}`)
    },
  }
}

function notes(output: Context['output']): Pick<View, 'link' | 'notice'> {
  let wasLost = false
  return {
    link: url => {
      if (url === null) output.note('the connection was lost; reconnecting')
      else if (wasLost) output.note(`connected again to ${url}`)
      wasLost = url === null
    },
    notice: text => output.note(text),
  }
}

function tableView({ output }: Context): View {
  const byName = new Map<string, Series>()
  let sorted: Series[] = []
  let link = 'connecting'
  let notice = ''
  const now_ms = () => performance.now()
  const draw = (size: ScreenSize): string[] => {
    const state = notice === '' ? `${link} · ${sorted.length} messages · Ctrl-C ends` : `${link} · ${notice}`
    return tailTable(sorted, state, size, output, now_ms())
  }
  const lastWords = (size: ScreenSize) => (sorted.length === 0 ? [] : draw(size).slice(0, -1))
  const screen = new Screen(process.stdout, draw, lastWords)
  // Rates fall while nothing arrives, so it is drawn at an interval. Unref'd, so that the process lives as long as the socket.
  setInterval(() => screen.redraw(), REDRAW_MS).unref()
  return {
    value: ({ name, value, missed = 0 }) => {
      let series = byName.get(name)
      if (series === undefined) {
        series = new Series(name)
        byName.set(name, series)
        sorted = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
      }
      series.add(value, missed, now_ms())
    },
    link: url => {
      link = url ?? 'connection lost, trying again'
      screen.redraw()
    },
    notice: text => {
      notice = printable(text)
    },
  }
}
