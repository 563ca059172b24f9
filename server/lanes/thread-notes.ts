import { cascadeId } from '../../protocol/nouns/cascade-id.ts'
import type { EngineEvent, EventType } from '../../protocol/nouns/event.ts'
import { formatTime } from '../../protocol/time.ts'
import type { Note } from '../../threads/lane/messages.ts'
import type { NodeHealth } from '../health/node-health.ts'
import type { Log } from '../observe/serve-log.ts'

export interface ThreadNotesParts {
  health: NodeHealth
  log: Log
  engine_epoch: number
  /** Sends an event to those that asked for events. The store keeps errors, logs and events of the journal by itself. */
  send(event: EngineEvent): void
  /** An event that is kept as well. */
  announce(type: EventType, flow: string, more?: Record<string, unknown>): void
  /** Flows that wake each other, through this one. */
  cyclesThrough(flow: string): string[][]
  /** The nodes of one flow on a loop through `node`, as ids. */
  loopThrough(node: string): string[]
}

const flowOf = (node: string): string => node.slice(0, node.indexOf('.'))

/** What threads wrote into their journals beside values, as the front takes it. */
export class ThreadNotes {
  readonly #parts: ThreadNotesParts

  constructor(parts: ThreadNotesParts) {
    this.#parts = parts
  }

  take(note: Note | { type: 'event'; event: EngineEvent }): void {
    const { health, log, send, announce } = this.#parts
    switch (note.type) {
      case 'error':
        this.#error(note)
        break
      case 'log':
        log[note.level === 'debug' ? 'info' : note.level]('node_log', {
          node: note.node,
          level: note.level,
          text: note.text,
        })
        send({
          type: 'node_log',
          ts: formatTime(note.ts),
          flow: flowOf(note.node),
          run: note.run ?? null,
          node: note.node,
          level: note.level,
          text: note.text,
        })
        break
      case 'gauge':
        health.gauge(note.node, note.name, note.value)
        break
      case 'report':
        if (!health.report(note.node, note.status, note.text, note.ts)) break
        announce(note.status === 'down' ? 'node_down' : 'node_up', flowOf(note.node), {
          node: note.node,
          text: note.text,
        })
        break
      case 'promoted': {
        const text = `More than half of the last executions of ${note.node} held their lane for over ${note.median_ms} ms: it runs in a call slot until it is fast again.`
        health.trouble(note.node, 'slow_body', text, note.ts)
        announce('node_promoted', flowOf(note.node), { node: note.node, reason: 'slow_body' })
        break
      }
      case 'demoted':
        health.well(note.node, 'slow_body')
        announce('node_demoted', flowOf(note.node), { node: note.node, fast_ms: note.fast_ms })
        break
      case 'cycle':
        this.#cycle(note)
        break
      case 'dropped':
        health.dropped(note.flow, note.reason, note.count)
        announce('values_dropped', note.flow, { reason: note.reason, count: note.count })
        break
      case 'event':
        send(note.event)
        break
      // The store's.
      case 'fires':
      case 'fires_seen':
        break
      default:
        note satisfies never
    }
  }

  #error(note: Extract<Note, { type: 'error' }>): void {
    const ts = formatTime(note.ts)
    const cascade = note.cascade_seq > 0 ? cascadeId(this.#parts.engine_epoch, note.cascade_ts, note.cascade_seq) : null
    const { node, code, message, stack, inputs } = note
    this.#parts.health.failed({ node, code, message, stack, ts, inputs, cascade, acknowledged: false }, note.good)
    this.#parts.send({ type: 'node_error', ts, flow: flowOf(node), run: null, node, code, message })
  }

  /** Prints the way round: within the flow, else through the flows that wake each other. */
  #cycle(note: Extract<Note, { type: 'cycle' }>): void {
    const { health, announce, cyclesThrough, loopThrough } = this.#parts
    const inside = loopThrough(note.node)
    const through = cyclesThrough(note.flow)[0]
    const way = inside.length > 0 ? [...inside, inside[0]!] : through ? [...through, through[0]!] : [note.node]
    const cycle = way.join(' -> ')
    health.trouble(note.node, 'cycle', `A value went round without end (${note.text}): ${cycle}.`, note.ts)
    announce('cycle_broken', note.flow, { node: note.node, cycle, reason: note.text, count: note.count })
  }
}
