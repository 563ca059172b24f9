import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MessagePort } from 'node:worker_threads'
import type { FlowRun } from '../../../core/cascade/flow-run.ts'
import { Mailbox } from '../../../core/cascade/mailbox.ts'
import { type Arrival, Execution } from '../../../core/cascade/seat.ts'
import type { PlanNode } from '../../../core/flow/plan.ts'
import { NodeState } from '../../../threads/calls/node-context.ts'
import { LaneCalls } from '../../../threads/lane/calls.ts'
import type { FromCall } from '../../../threads/lane/messages.ts'
import { LaneSeat } from '../../../threads/lane/seat.ts'
import { eventually } from '../../kit/live-engine.ts'

/** A call of `f.count` that is away, and what its flow finds in its next turn. */
function called() {
  const seat = new LaneSeat({ qualified: 'f.count' } as PlanNode, new Mailbox())
  seat.state = new NodeState({ n: 1 })
  const arrivals: Arrival[] = []
  const flow = {
    name: 'f',
    arrive: (_: Execution, arrival: Arrival) => void arrivals.push(arrival),
  } as unknown as FlowRun
  let port: MessagePort | null = null
  const executed: number[] = []
  const calls = new LaneCalls({
    emitted: () => Promise.resolve(),
    stateOf: ({ state }) => state!,
    post: (_, given) => void (port = given),
    withdraw: () => {},
    note: () => {},
    executed: (_, ms) => void executed.push(ms),
  })
  calls.dispatch(flow, new Execution(seat))
  return { state: seat.state, arrivals, executed, answer: (message: FromCall) => port!.postMessage(message) }
}

test('the state that a call slot answers becomes the state of the node in the turn that publishes its values, not before', async () => {
  const { state, arrivals, executed, answer } = called()
  answer({ type: 'emit', outputs: { n: 2 } })
  answer({ type: 'returned', outputs: { n: 3 }, state: { n: 3 }, ms: 7 })
  await eventually(() => arrivals.length === 3, 'the call has come back')
  assert.deepEqual([state.object, state.touched, executed], [{ n: 1 }, false, []])
  const [emitted, last, end] = arrivals
  assert.ok(emitted?.type === 'emitted' && last?.type === 'emitted')
  assert.deepEqual([emitted.outputs, last.outputs, end], [{ n: 2 }, { n: 3 }, { type: 'returned', value: undefined }])
  last.processed()
  assert.deepEqual([state.object, state.touched, executed], [{ n: 3 }, true, [7]])
})

test('a body that threw in a call slot keeps what it wrote, behind what it emitted', async () => {
  const { state, arrivals, answer } = called()
  answer({ type: 'emit', outputs: { n: 2 } })
  answer({ type: 'threw', failure: { code: 'node_error', message: 'no', stack: null }, state: { n: 2 }, ms: 1 })
  await eventually(() => arrivals.length === 3, 'the call has come back')
  assert.deepEqual(
    arrivals.map(({ type }) => type),
    ['emitted', 'emitted', 'threw'],
  )
  assert.deepEqual(state.object, { n: 1 })
  const [, last] = arrivals
  assert.ok(last?.type === 'emitted')
  assert.deepEqual(last.outputs, {})
  last.processed()
  assert.deepEqual([state.object, state.touched], [{ n: 2 }, true])
})
