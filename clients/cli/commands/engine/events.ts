import { type Command, Option } from 'commander'
import type { EngineEvent } from '../../../../protocol/nouns/event.ts'
import { EVENT_TYPES, type EventType } from '../../../../protocol/words/event-types.ts'
import { Client, followLive } from '../../../client/client.ts'
import { type Context, engineOf } from '../../context.ts'
import { countOf } from '../../counts.ts'
import { usage } from '../../failure.ts'
import { shortTime } from '../../output/figures.ts'
import type { Output } from '../../output/output.ts'
import { shortRuns } from '../../output/short-ids.ts'
import { fit, padEnd, printable } from '../../output/text.ts'

const SHOWN = 20
const TYPE_COLUMNS = 16
/** All types but values, which `svc tail` follows. */
const TYPES = EVENT_TYPES.filter(type => type !== 'message_value')
const TROUBLE = /error|down|degraded|dropped|failed|full|lost|damaged|silent|broken/

interface EventsOptions {
  readonly flow?: string
  readonly type?: EventType
  readonly since?: string
  readonly limit?: number
  readonly follow?: boolean
  readonly json?: boolean
}

export function addEvents(program: Command, context: Context): void {
  program
    .command('events')
    .description('print the events of the engine, the newest last')
    .option('--flow <name>', 'only events of this flow')
    .addOption(new Option('--type <type>', 'only events of this type, such as node_error').argParser(typeOf))
    .option('--since <time>', 'only events from this time on; RFC 3339 with an offset')
    .option('--limit <count>', `print at most this many recorded events (default: ${SHOWN})`, countOf('--limit'))
    .option('--follow', 'then print new events until Ctrl-C')
    .option('--json', 'print one JSON document per line and event')
    .action(async (options: EventsOptions, command: Command) => {
      const find = () => engineOf(context, command)
      const show = shower(context.output, options)
      const list = async () => {
        const { flow, type, since, limit = SHOWN } = options
        const { items } = await new Client(find()).events.list({ flow, type, since, limit })
        return items.reverse()
      }
      const { flow, type } = options
      const isMeant = (event: EngineEvent) =>
        (flow === undefined || event.flow === flow) && (type === undefined || event.type === type)
      if (options.follow) return followEvents(find, list, isMeant, show, context.output)
      const events = await list()
      if (events.length === 0) context.output.note('no events match')
      for (const event of events) show(event)
    })
}

/** Shows recorded events first. Events that come during that wait, and each is shown once. */
export async function followEvents(
  find: () => { url: string; token: string | null },
  list: () => Promise<EngineEvent[]>,
  isMeant: (event: EngineEvent) => boolean,
  show: (event: EngineEvent) => void,
  output: Output,
): Promise<never> {
  const following = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<never>()
  let waiting: EngineEvent[] | null = []
  /** Events of the list; each may also come over the socket, even after the list. */
  const shown = new Set<string>()
  let wasLost = false
  await followLive({
    find,
    onEvent: event => {
      if (!isMeant(event)) return
      if (waiting !== null) waiting.push(event)
      else if (!shown.delete(JSON.stringify(event))) show(event)
    },
    onFollowing: following.resolve,
    onLink: url => {
      if (url === null) output.note('the connection was lost; reconnecting')
      else if (wasLost)
        output.note(`connected again to ${url}; the same command without --follow lists the events in between`)
      wasLost ||= url === null
    },
    onFailure: error => {
      following.reject(error)
      ended.reject(error)
    },
  })
  await following.promise
  const kept = await list()
  for (const event of kept) {
    shown.add(JSON.stringify(event))
    show(event)
  }
  for (const event of waiting) if (!shown.delete(JSON.stringify(event))) show(event)
  waiting = null
  return ended.promise
}

function typeOf(text: string): EventType {
  const known = TYPES.find(type => type === text)
  if (known === undefined) throw usage(`--type is ${JSON.stringify(text)}; the types are ${TYPES.join(', ')}.`)
  return known
}

/** `2026-01-01 12:00:00  node_error       machine.alarm  code=node_error …`, as wide as the terminal. */
function shower(output: Output, { json }: EventsOptions): (event: EngineEvent) => void {
  if (json) return event => output.jsonLine(event)
  return ({ type, ts, flow, run, ...rest }) => {
    const words = Object.entries(rest).flatMap(([key, value]) => wordOf(key, value))
    const subject = rest['node'] === undefined && flow !== null ? [flow] : []
    const width = output.width
    const shown = run === null || width === undefined ? run : shortRuns([run]).get(run)
    const about = [...subject, ...(run === null ? [] : [`run ${shown}`]), ...words].join('  ')
    const head = `${shortTime(ts)}  ${padEnd(type, TYPE_COLUMNS)}  `
    const text = printable(about)
    const tail = width === undefined ? text : fit(text, Math.max(8, width - head.length))
    output.lines([TROUBLE.test(type) ? `${output.style('red', head)}${tail}` : `${head}${tail}`])
  }
}

function wordOf(key: string, value: unknown): string[] {
  if (value === null || value === undefined || key === 'stack') return []
  if (key === 'node' || key === 'message' || key === 'text') return [String(value)]
  return [`${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`]
}
