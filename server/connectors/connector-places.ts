import type { PlanNode } from '../../core/flow/plan.ts'
import type { ErrorCode } from '../../protocol/errors.ts'
import type { ConnectorPlan, FromConnectors, ToConnectors } from '../../threads/connectors/messages.ts'
import type { CallOutcome, ToCall } from '../../threads/lane/messages.ts'
import type { BodyCall, CallPlace, CallPlaces } from '../calls/body-call.ts'

/** Calls of nodes that the connectors thread runs. There is no line: what is outside decides how long each takes. */
export class ConnectorPlaces implements CallPlaces {
  readonly #post: (message: ToConnectors) => void
  readonly #withSecrets: (plan: ConnectorPlan) => ConnectorPlan
  readonly #calls = new Map<number, BodyCall>()
  #ids = 0

  constructor(post: (message: ToConnectors) => void, withSecrets: (plan: ConnectorPlan) => ConnectorPlan) {
    this.#post = post
    this.#withSecrets = withSecrets
  }

  take(call: BodyCall): void {
    const id = ++this.#ids
    const place: CallPlace = {
      run: ({ request: { node, inputs } }) => {
        this.#post({ type: 'call', call: id, plan: this.#withSecrets(calledPlan(node)), inputs })
        this.#calls.set(id, call)
        call.begun()
      },
      tell: (message: ToCall) => {
        if (message.type === 'abort') this.#post({ type: 'abort', call: id, reason: message.reason })
      },
      // The thread serves others: the call is left to itself there.
      end: () => {
        this.#post({ type: 'abort', call: id, reason: 'It was ended.' })
        if (this.#calls.delete(id)) call.gone({ code: 'interrupted', message: 'It was ended.' })
      },
    }
    call.begin(place)
  }

  /** Nobody waits. */
  drop(): void {}

  ended(message: Extract<FromConnectors, { call: number }>): void {
    const call = this.#calls.get(message.call)
    if (call === undefined) return
    this.#calls.delete(message.call)
    const { state } = call.request
    const outcome: CallOutcome =
      message.type === 'answered'
        ? { type: 'returned', outputs: message.outputs, state, ms: message.ms, held_ms: 0 }
        : {
            type: 'threw',
            failure: { ...message.failure, code: message.failure.code as ErrorCode },
            state,
            ms: message.ms,
            held_ms: 0,
          }
    call.over(outcome)
  }

  /** The thread has ended, and with it whatever it did for them. */
  lost(): void {
    const calls = [...this.#calls.values()]
    this.#calls.clear()
    for (const call of calls) call.gone({ code: 'thread_lost', message: 'The connectors thread ended meanwhile.' })
  }
}

/** What the thread is told of a node that is called: its answers go to whoever called, not to messages. */
const calledPlan = ({ index, qualified, type, change_key, settings, inputs, outputs }: PlanNode): ConnectorPlan => ({
  node: index,
  qualified,
  type,
  change_key,
  settings,
  inputs: inputs.map(({ port, dtype }) => ({ name: port, dtype })),
  outputs: outputs.map(({ port, dtype }) => ({ name: port, dtype, route: null, rate_hz: null })),
})
