import type { PlanNode } from '../../core/flow/plan.ts'
import type { Latency } from '../../core/memory/counters.ts'
import { DISK_FAULTS } from '../../protocol/disk-faults.ts'
import { limits } from '../../protocol/limits.ts'
import type { FlowBacklog } from '../../protocol/nouns/flow.ts'
import { VERSION } from '../../protocol/version.ts'
import type { CascadeCounts } from '../fanout/cascade-counts.ts'
import type { Fanout } from '../fanout/fanout.ts'
import type { JournalTap } from '../fanout/journal-tap.ts'
import type { LiveFlow } from '../flows/flow.ts'
import type { LiveFlows } from '../flows/flows.ts'
import type { LiveMessages } from '../flows/messages.ts'
import { type Distribution, type Latencies, measuredOf } from '../health/latencies.ts'
import type { NodeHealth } from '../health/node-health.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'
import type { Store } from '../store/front/client.ts'
import type { FrontWatch } from '../watch/front-watch.ts'
import { Exposition, type Labels, type Sample } from './exposition.ts'

export interface PrometheusParts {
  front: FrontMemory
  store: Store
  flows: LiveFlows
  messages: LiveMessages
  health: NodeHealth
  latencies: Latencies
  fanout: Fanout
  tap: JournalTap
  cascades: CascadeCounts
  backlogs: readonly FlowBacklog[]
  started_us: number
  front_watch: FrontWatch
}

const LATENCY_HELP = [
  ['wait', 'from the publish of a value to the start of the body that it woke'],
  ['execution', 'the body, from its start to its end'],
  ['total', 'from the root publish to the end of the body'],
] as const

/** A node that has run. */
function* nodeLatencies(parts: PrometheusParts, which: Latency): Iterable<readonly [Labels, Distribution]> {
  for (const { flow, node } of ranNodes(parts))
    yield [{ flow: flow.name, node: node.id }, parts.latencies.distribution({ node: node.index }, which)]
}

function* wireLatencies(parts: PrometheusParts, which: Latency): Iterable<readonly [Labels, Distribution]> {
  for (const { flow, node } of ranNodes(parts)) {
    for (const input of node.inputs) {
      const row = measuredOf(node, input)
      if (row === null) continue
      const message = flow.plan.messages[input.message]!.name
      const labels = { flow: flow.name, node: node.id, port: input.port, message }
      yield [labels, parts.latencies.distribution(row, which)]
    }
  }
}

function* ranNodes({ front, flows }: PrometheusParts): Iterable<{ flow: LiveFlow; node: PlanNode }> {
  for (const flow of flows.all())
    for (const node of flow.plan.nodes) if (front.counters.get(node.index, 'executions') > 0) yield { flow, node }
}

/** Of messages whose frames were ever wanted. */
function* mediaCounts(fanout: Fanout, which: 'sent' | 'skipped'): Iterable<Sample> {
  for (const { name, counts } of fanout.frameCounts()) yield [{ message: name }, counts[which]]
}

const NODE_COUNTERS = ['executions', 'errors', 'waiting_for_input', 'dropped'] as const

/** The text in pieces, each of whole lines: an engine of thousands of nodes has megabytes of it. */
export function* prometheusText(parts: PrometheusParts): Iterable<string> {
  const { front, store, flows, messages, health, fanout, tap, cascades } = parts
  const out = new Exposition()
  const totals = cascades.totals()
  const counts = fanout.counts()
  yield* out.metric('svc_info', 'gauge', 'The running release.', [[{ version: VERSION }, 1]])
  yield* out.metric('svc_started_seconds', 'gauge', 'When the engine started, seconds since 1970.', [
    [{}, parts.started_us / 1e6],
  ])
  yield* out.metric('svc_published_total', 'counter', 'Values published from outside.', [[{}, messages.published]])
  yield* out.metric(
    'svc_cascades_total',
    'counter',
    'Cascades ended, by status.',
    (['succeeded', 'failed', 'interrupted'] as const).map(status => [{ status }, totals[status]] as const),
  )
  yield* out.metric(
    'svc_cascades_in_flight',
    'gauge',
    'Cascades that outlived the turn that began them: a body is away, or they are long.',
    [[{}, front.cascadesInFlight]],
  )
  yield* out.metric(
    'svc_front_held_total',
    'counter',
    `Stretches of over ${limits.FRONT_HELD_MS} ms in which the front thread did nothing else, by route.`,
    [...parts.front_watch.counts().by].map(([by, times]) => [{ by }, times] as const),
  )
  for (const counter of NODE_COUNTERS) {
    const samples: Sample[] = []
    for (const flow of flows.all()) {
      for (const node of flow.plan.nodes) {
        const value = front.counters.get(node.index, counter)
        if (value > 0) samples.push([{ flow: flow.name, node: node.id }, value])
      }
    }
    yield* out.metric(`svc_node_${counter}_total`, 'counter', `Node ${counter.replaceAll('_', ' ')}.`, samples)
  }
  const replaced: Sample[] = []
  for (const flow of flows.all()) {
    for (const node of flow.plan.nodes) {
      for (const { gated, message } of node.outputs) {
        const { index, name } = flow.plan.messages[message]!
        const count = front.held.replaced(index) + front.scheduled.replaced(index)
        if (gated) replaced.push([{ message: name }, count])
      }
    }
  }
  const help = 'Values that were replaced by a newer one because of `rate_hz`, or while a trigger waited.'
  yield* out.metric('svc_message_replaced_total', 'counter', help, replaced)
  yield* out.metric('svc_media_frames_sent_total', 'counter', 'Media frames sent to sockets.', [
    ...mediaCounts(fanout, 'sent'),
  ])
  yield* out.metric(
    'svc_media_frames_skipped_total',
    'counter',
    'Values that went out without the frame that a socket had asked for.',
    [...mediaCounts(fanout, 'skipped')],
  )
  for (const [which, what] of LATENCY_HELP) {
    yield* out.histogram(`svc_node_${which}_seconds`, `Node: ${what}.`, nodeLatencies(parts, which))
    yield* out.histogram(`svc_wire_${which}_seconds`, `Wire to a node: ${what}.`, wireLatencies(parts, which))
  }
  const gauges: Sample[] = []
  for (const [node, of_node] of health.gauges())
    for (const [name, value] of of_node) gauges.push([{ node, name }, value])
  yield* out.metric('svc_node_gauge', 'gauge', 'What bodies set with ctx.metric.', gauges)
  yield* out.metric(
    'svc_flow_waiting',
    'gauge',
    'Items waiting in a flow.',
    parts.backlogs.map(backlog => [{ flow: backlog.flow }, backlog.waiting] as const),
  )
  yield* out.metric('svc_nodes_down', 'gauge', 'Nodes that report themselves down.', [[{}, health.downCount]])
  yield* out.metric('svc_node_errors', 'gauge', 'Nodes with an error that is not acknowledged.', [
    [{}, health.unacknowledged],
  ])
  const dropped = { ...health.droppedByReason(), history: store.health.dropped, journal_lapped: tap.counts().missed }
  yield* out.metric(
    'svc_dropped_total',
    'counter',
    'What was dropped, by reason.',
    Object.entries(dropped).map(([reason, count]) => [{ reason }, count] as const),
  )
  yield* out.metric('svc_sockets', 'gauge', 'Open flow sockets.', [[{}, counts.followers]])
  yield* out.metric('svc_sockets_slow', 'gauge', 'Sockets that get only the newest values.', [[{}, counts.slow]])
  yield* out.metric('svc_socket_values_total', 'counter', 'Values sent to topics.', [[{}, counts.published]])
  yield* out.metric('svc_disk_full', 'gauge', '1 while history is dropped because the disk is full.', [
    [{}, store.health.fault?.code === 'disk_full' ? 1 : 0],
  ])
  yield* out.metric(
    'svc_disk_fault',
    'gauge',
    '1 while the disk takes no commits, by what it refuses them for.',
    DISK_FAULTS.map(code => [{ code }, store.health.fault?.code === code ? 1 : 0]),
  )
  yield* out.metric('svc_resident_bytes', 'gauge', 'Resident memory of the engine process.', [
    [{}, process.memoryUsage.rss()],
  ])
  yield* out.metric('svc_arena_bytes', 'gauge', 'Memory of the values that are too large for a slot.', [
    [{}, front.arena.used()],
  ])
}
