import { DISK_FAULTS } from '../../protocol/disk-faults.ts'
import type { FlowBacklog } from '../../protocol/nouns/flow.ts'
import { VERSION } from '../../protocol/version.ts'
import type { CascadeCounts } from '../fanout/cascade-counts.ts'
import type { Fanout } from '../fanout/fanout.ts'
import type { JournalTap } from '../fanout/journal-tap.ts'
import type { LiveFlows } from '../flows/flows.ts'
import type { LiveMessages } from '../flows/messages.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'
import type { Store } from '../store/front/client.ts'
import type { NodeHealth } from './node-health.ts'

export interface PrometheusParts {
  front: FrontMemory
  store: Store
  flows: LiveFlows
  messages: LiveMessages
  health: NodeHealth
  fanout: Fanout
  tap: JournalTap
  cascades: CascadeCounts
  backlogs: readonly FlowBacklog[]
  started_us: number
}

type Labels = Readonly<Record<string, string>>

/** Prometheus text exposition format, version 0.0.4. */
class Exposition {
  readonly #lines: string[] = []

  metric(name: string, type: 'counter' | 'gauge', help: string, samples: Iterable<readonly [Labels, number]>): void {
    this.#lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
    for (const [labels, value] of samples) {
      const inside = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
      this.#lines.push(`${name}${inside.length === 0 ? '' : `{${inside.join(',')}}`} ${value}`)
    }
  }

  text(): string {
    return `${this.#lines.join('\n')}\n`
  }
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')

const NODE_COUNTERS = ['executions', 'errors', 'waiting_for_input', 'dropped'] as const

export function prometheusText(parts: PrometheusParts): string {
  const { front, store, flows, messages, health, fanout, tap, cascades } = parts
  const out = new Exposition()
  const totals = cascades.totals()
  const counts = fanout.counts()
  out.metric('svc_info', 'gauge', 'The running release.', [[{ version: VERSION }, 1]])
  out.metric('svc_started_seconds', 'gauge', 'When the engine started, seconds since 1970.', [
    [{}, parts.started_us / 1e6],
  ])
  out.metric('svc_published_total', 'counter', 'Values published from outside.', [[{}, messages.published]])
  out.metric(
    'svc_cascades_total',
    'counter',
    'Cascades ended, by status.',
    (['succeeded', 'failed', 'interrupted'] as const).map(status => [{ status }, totals[status]] as const),
  )
  out.metric(
    'svc_cascades_in_flight',
    'gauge',
    'Cascades that outlived the turn that began them: a body is away, or they are long.',
    [[{}, front.cascadesInFlight]],
  )
  for (const counter of NODE_COUNTERS) {
    const samples: [Labels, number][] = []
    for (const flow of flows.all()) {
      for (const node of flow.plan.nodes) {
        const value = front.counters.get(node.index, counter)
        if (value > 0) samples.push([{ flow: flow.name, node: node.id }, value])
      }
    }
    out.metric(`svc_node_${counter}_total`, 'counter', `Node ${counter.replaceAll('_', ' ')}.`, samples)
  }
  const replaced: [Labels, number][] = []
  for (const flow of flows.all()) {
    for (const node of flow.plan.nodes) {
      for (const { rate_hz, message } of node.outputs) {
        const { index, name } = flow.plan.messages[message]!
        if (rate_hz !== null) replaced.push([{ message: name }, front.held.replaced(index)])
      }
    }
  }
  const help = 'Values that a newer one replaced while rate_hz held them back.'
  out.metric('svc_message_replaced_total', 'counter', help, replaced)
  const quantiles: [Labels, number][] = []
  for (const flow of flows.all()) {
    for (const node of flow.plan.nodes) {
      if (front.counters.get(node.index, 'executions') === 0) continue
      for (const quantile of [0.5, 0.99]) {
        const ns = front.counters.quantile(node.index, 'execution', quantile)
        if (ns !== null) quantiles.push([{ flow: flow.name, node: node.id, quantile: String(quantile) }, ns / 1e9])
      }
    }
  }
  out.metric('svc_node_execution_seconds', 'gauge', 'Time of a body, by quantile since the engine started.', quantiles)
  const gauges: [Labels, number][] = []
  for (const [node, of_node] of health.gauges())
    for (const [name, value] of of_node) gauges.push([{ node, name }, value])
  out.metric('svc_node_gauge', 'gauge', 'What bodies set with ctx.metric.', gauges)
  out.metric(
    'svc_flow_waiting',
    'gauge',
    'Items waiting in a flow.',
    parts.backlogs.map(backlog => [{ flow: backlog.flow }, backlog.waiting] as const),
  )
  out.metric('svc_nodes_down', 'gauge', 'Nodes that report themselves down.', [[{}, health.downCount]])
  out.metric('svc_node_errors', 'gauge', 'Nodes with an error that nobody acknowledged.', [[{}, health.unacknowledged]])
  const dropped = { ...health.droppedByReason(), history: store.health.dropped, journal_lapped: tap.counts().missed }
  out.metric(
    'svc_dropped_total',
    'counter',
    'What was dropped, by reason.',
    Object.entries(dropped).map(([reason, count]) => [{ reason }, count] as const),
  )
  out.metric('svc_sockets', 'gauge', 'Open flow sockets.', [[{}, counts.followers]])
  out.metric('svc_sockets_slow', 'gauge', 'Sockets that get only the newest values.', [[{}, counts.slow]])
  out.metric('svc_socket_values_total', 'counter', 'Values sent to topics.', [[{}, counts.published]])
  out.metric('svc_disk_full', 'gauge', '1 while history is dropped because the disk is full.', [
    [{}, store.health.fault?.code === 'disk_full' ? 1 : 0],
  ])
  out.metric(
    'svc_disk_fault',
    'gauge',
    '1 while the disk takes no commits, by what it refuses them for.',
    DISK_FAULTS.map(code => [{ code }, store.health.fault?.code === code ? 1 : 0]),
  )
  out.metric('svc_resident_bytes', 'gauge', 'Resident memory of the engine process.', [[{}, process.memoryUsage.rss()]])
  out.metric('svc_arena_bytes', 'gauge', 'Memory of the values that are too large for a slot.', [
    [{}, front.arena.used()],
  ])
  return out.text()
}
