import type { EngineEvent } from '../../../protocol/nouns/event.ts'
import { shortRun } from './waits.ts'

export type Level = 'debug' | 'info' | 'warn' | 'error'

/** A line of the log: an event in words. */
export interface LogText {
  readonly level: Level
  /** The node, else the flow, else what of the engine it is about. */
  readonly source: string
  readonly text: string
}

const by = ({ by: author }: EngineEvent): string => (typeof author === 'string' ? ` by ${author}` : '')
const runOf = ({ run }: EngineEvent): string => (run === null ? 'run' : shortRun(run))

export function logText(event: EngineEvent): LogText {
  const { type, flow, node, text } = event
  const about = typeof node === 'string' ? node : (flow ?? 'engine')
  const line = (level: Level, words: string, source = about): LogText => ({ level, source, text: words })
  switch (type) {
    case 'node_log':
      return line(levelOf(event['level']), String(text ?? ''))
    case 'node_error':
      return line('error', String(event['message'] ?? event['code'] ?? 'failed'))
    case 'node_down':
      return line('warn', `reports down: ${text}`)
    case 'node_up':
      return line('info', 'is well again')
    case 'node_acknowledged':
      return line('info', `error acknowledged${by(event)}`)
    case 'flow_saved':
      return line('info', `version ${event['version']} saved${by(event)}`)
    case 'flow_deleted':
      return line('info', `deleted${by(event)}`)
    case 'flow_renamed':
      return line('info', `renamed from ${event['from']}${by(event)}`)
    case 'flow_enabled':
      return line('info', `enabled${by(event)}`)
    case 'flow_disabled':
      return line('info', `disabled${by(event)}`)
    case 'flow_purged':
      return line('warn', `${event['dropped']} waiting items dropped${by(event)}`)
    case 'values_dropped':
      return line('warn', `${event['count']} dropped: ${event['reason']}`)
    case 'run_created':
      return line('info', `${runOf(event)} created${by(event)}`)
    case 'run_started':
      return line('info', `${runOf(event)} started`)
    case 'run_finished':
      return finished(event)
    case 'run_cancel_requested':
      return line('info', `${runOf(event)} is to be cancelled${by(event)}`)
    case 'node_queued':
      return line('info', event.run === null ? 'waits for resources' : `waits for resources in ${runOf(event)}`)
    case 'note':
      return line('warn', String(text), 'svc serve')
    case 'engine_started':
      return line('info', `started, release ${event['version']}`)
    default:
      return line(TROUBLE.test(type) ? 'warn' : 'info', otherText(event))
  }
}

const TROUBLE = /error|down|degraded|dropped|failed|full|lost|damaged|silent|broken|replaced/

function finished({ flow, status, error, node, ...event }: EngineEvent): LogText {
  const level = status === 'failed' ? 'error' : status === 'cancelled' ? 'warn' : 'info'
  const why = typeof error === 'string' && status === 'failed' ? `: ${error}${node ? ` in ${node}` : ''}` : ''
  return { level, source: flow ?? 'runs', text: `${runOf({ flow, ...event } as EngineEvent)} ${status}${why}` }
}

const levelOf = (level: unknown): Level => (level === 'debug' || level === 'warn' || level === 'error' ? level : 'info')

/** `thread replaced: code=1 …` */
function otherText({ type, ts: _ts, flow: _flow, run, node: _node, stack: _stack, ...more }: EngineEvent): string {
  const words = Object.entries(more).flatMap(([name, value]) =>
    value === null || value === undefined
      ? []
      : [`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`],
  )
  const subject = run === null ? [] : [shortRun(run)]
  return [type.replaceAll('_', ' '), ...subject, ...words].join(' ')
}
