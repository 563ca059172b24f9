import { ServiceError } from '../../protocol/errors.ts'
import type { BodyCall, CallPlace, CallPlaces } from '../../server/calls/body-call.ts'
import type { CallOutcome, ToCall } from '../../threads/lane/messages.ts'
import type { BodyName } from '../conformance/call-places.ts'

/** Places without threads or processes: each plays the bodies of the conformance suite. */
export class CallPlacesDouble implements CallPlaces {
  readonly #waiting: BodyCall[] = []
  #free: number

  constructor(places: number) {
    this.#free = places
  }

  take(call: BodyCall): void {
    this.#waiting.push(call)
    queueMicrotask(() => this.#serve())
  }

  drop(call: BodyCall): void {
    const at = this.#waiting.indexOf(call)
    if (at >= 0) this.#waiting.splice(at, 1)
  }

  /** Free again, or replaced. */
  freed(): void {
    this.#free++
    queueMicrotask(() => this.#serve())
  }

  #serve(): void {
    while (this.#free > 0 && this.#waiting.length > 0) {
      this.#free--
      if (!this.#waiting.shift()!.begin(new PlaceDouble(this))) this.#free++
    }
  }
}

class PlaceDouble implements CallPlace {
  readonly #places: CallPlacesDouble
  #call: BodyCall | null = null
  #goOn: () => void = () => {}
  #told: () => void = () => {}

  constructor(places: CallPlacesDouble) {
    this.#places = places
  }

  run(call: BodyCall): void {
    const { inputs, node } = call.request
    if (Object.values(inputs).some(value => typeof value === 'function'))
      throw new ServiceError('validation', 'A function is not a value.')
    this.#call = call
    call.begun()
    setImmediate(() => void this.#play(node.id as BodyName, inputs['x'] as number))
  }

  tell(message: ToCall): void {
    if (message.type === 'processed') this.#goOn()
    else this.#told()
  }

  end(): void {
    setImmediate(() => this.#gone('It was ended.'))
  }

  async #play(body: BodyName, x: number): Promise<void> {
    switch (body) {
      case 'same':
        return this.#over(x)
      case 'emits':
        for (const value of [1, 2]) await this.#emit(value)
        return this.#over(3)
      case 'until_told': {
        const told = new Promise<void>(resolve => (this.#told = resolve))
        void this.#emit(0)
        await told
        return this.#over(x)
      }
      case 'deaf':
        return this.#emit(0)
      case 'dies':
        void this.#emit(1)
        void this.#emit(2)
        return this.#gone('The body ended its place.')
      default:
        body satisfies never
    }
  }

  #emit(x: number): Promise<void> {
    const processed = new Promise<void>(resolve => (this.#goOn = resolve))
    this.#call?.said({ type: 'emit', outputs: { x } })
    return processed
  }

  #over(x: number): void {
    const outcome: CallOutcome = { type: 'returned', outputs: { x }, state: {}, ms: 1 }
    const call = this.#call
    this.#call = null
    if (call === null) return
    this.#places.freed()
    call.over(outcome)
  }

  #gone(message: string): void {
    const call = this.#call
    this.#call = null
    if (call === null) return
    this.#places.freed()
    call.gone({ code: 'thread_lost', message })
  }
}
