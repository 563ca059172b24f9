import { type Command, Option } from 'commander'
import type { EngineEvent } from '../../../../protocol/nouns/event.ts'
import { AUDIT_ACTIONS, type AuditAction } from '../../../../protocol/words/audit-actions.ts'
import { Client } from '../../../client/client.ts'
import { type Context, engineOf } from '../../context.ts'
import { countOf } from '../../counts.ts'
import { usage } from '../../failure.ts'
import { shortTime } from '../../output/figures.ts'
import type { Output } from '../../output/output.ts'
import { fit, padEnd, printable } from '../../output/text.ts'
import { followEvents } from './events.ts'

const SHOWN = 20
const ACTION_COLUMNS = Math.max(...AUDIT_ACTIONS.map(({ length }) => length))
const ACTOR_COLUMNS = 16

interface AuditOptions {
  readonly actor?: string
  readonly action?: AuditAction
  readonly since?: string
  readonly limit?: number
  readonly follow?: boolean
  readonly json?: boolean
}

export function addAudit(program: Command, context: Context): void {
  program
    .command('audit')
    .description('print who did what: sign-ins, saves, changes of accounts; the newest last')
    .option('--actor <name>', 'only what this user, client or token did')
    .addOption(new Option('--action <action>', 'only this, such as flow_saved').argParser(actionOf))
    .option('--since <time>', 'only events from this time on; RFC 3339 with an offset')
    .option('--limit <count>', `print at most this many recorded events (default: ${SHOWN})`, countOf('--limit'))
    .option('--follow', 'then print new events until Ctrl-C')
    .option('--json', 'print one JSON document per line and event')
    .action(async (options: AuditOptions, command: Command) => {
      const { actor, action, since, limit = SHOWN } = options
      const find = () => engineOf(context, command)
      const show = shower(context.output, options.json === true)
      const list = async () =>
        (await new Client(find()).events.list({ type: 'audit', actor, action, since, limit })).items.reverse()
      const isMeant = (event: EngineEvent) =>
        event.type === 'audit' &&
        (actor === undefined || event['actor'] === actor) &&
        (action === undefined || event['action'] === action)
      if (options.follow) return followEvents(find, list, isMeant, show, context.output)
      const events = await list()
      if (events.length === 0) context.output.note('no audit events match')
      for (const event of events) show(event)
    })
}

function actionOf(text: string): AuditAction {
  const known = AUDIT_ACTIONS.find(action => action === text)
  if (known === undefined)
    throw usage(`--action is ${JSON.stringify(text)}; the actions are ${AUDIT_ACTIONS.join(', ')}.`)
  return known
}

/** `2026-01-01 12:00:00  flow_saved  ada  flow:boiler  from 127.0.0.1`, as wide as the terminal; a refusal is red. */
function shower(output: Output, isJson: boolean): (event: EngineEvent) => void {
  if (isJson) return event => output.jsonLine(event)
  return event => {
    const { ts } = event
    const { action, actor, object, address, result, count, left_out } = event as Record<string, unknown>
    const head = `${shortTime(ts)}  ${padEnd(String(action), ACTION_COLUMNS)}  ${padEnd(String(actor ?? '-'), ACTOR_COLUMNS)}  `
    const words = [String(object ?? '-')]
    if (count !== undefined) words.push(`${count} of them`)
    if (address !== '') words.push(`from ${address}`)
    if (result !== 'ok') words.push(`refused: ${result}`)
    if (left_out !== undefined) words.push(`${left_out} before it left out`)
    const { width } = output
    const text = printable(words.join('  '))
    const tail = width === undefined ? text : fit(text, Math.max(8, width - head.length))
    output.lines([result === 'ok' ? `${head}${tail}` : output.style('red', `${head}${tail}`)])
  }
}
