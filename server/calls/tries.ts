import type { PlanNode } from '../../core/flow/plan.ts'
import { jsonWeight } from '../../core/json-text.ts'
import { type ErrorCode, ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { TriedError, TriedLine, TriedNode } from '../../protocol/nouns/node.ts'
import { formatTime } from '../../protocol/time.ts'
import { BODY_FILE } from '../../threads/calls/node-call.ts'
import type { CallOutcome, Note } from '../../threads/lane/messages.ts'
import type { CallListener, RunCall } from './call-sink.ts'
import type { Grant, Waited } from './resource-desk.ts'

export interface TryRequest {
  readonly flow: string
  readonly node: PlanNode
  readonly inputs: Record<string, unknown>
  /** A copy: what the body makes of it is thrown away. */
  readonly state: Record<string, unknown>
  readonly timeout_s: number
  /** Aborted when nobody waits for the answer any more. */
  readonly gone: AbortSignal | null
}

export interface TriesParts {
  /** A call of its own kind, which tells nobody else. */
  try(request: Omit<TryRequest, 'timeout_s' | 'gone'> & { grant: Grant | null }, listener: CallListener): RunCall
  /** What the node declares, claimed; null: it declares nothing. Throws as a flavor may be gone. */
  claim(node: PlanNode): Waited | null
  release(grant: Grant): void
}

/**
 * Bodies that are run once to see what they do: in a place of their own, so that one that never ends holds no live call back.
 *
 *   claiming --granted, or it declares nothing--> running --its last word, its time is over, its client left--> over
 *   claiming --its time is over, its client left--> over
 */
export class Tries {
  readonly #parts: TriesParts
  #open = 0

  constructor(parts: TriesParts) {
    this.#parts = parts
  }

  /** Resolves also when the body fails or is ended. Rejects with `too_many_tries`, with `interrupted` when the client left. */
  async run(request: TryRequest): Promise<TriedNode> {
    const { gone } = request
    if (gone?.aborted) throw left()
    if (this.#open >= limits.TRIES)
      throw new ServiceError('too_many_tries', `${this.#open} tries run already; no more run at once.`, {
        retry_after_s: 1,
      })
    this.#open++
    try {
      const trial = await this.#run(request)
      if (gone?.aborted) throw left()
      return trial.result()
    } finally {
      this.#open--
    }
  }

  async #run(request: TryRequest): Promise<Trial> {
    const { node, timeout_s, gone } = request
    const trial = new Trial(request)
    const claim = this.#parts.claim(node)
    // A body counts its time from its beginning; whoever asks waits no longer than that and the way there.
    const late_ms = timeout_s * 1000 + limits.TRY_WAIT_MS
    const timer = setTimeout(() => trial.end('timeout', 'It did not begin in time.', claim), late_ms)
    const leave = (): void => trial.end('cancelled', 'Its client left.', claim)
    gone?.addEventListener('abort', leave)
    try {
      const grant = claim === null ? null : await claim.promise
      try {
        if (trial.why !== null) trial.refused(new ServiceError(trial.why.code, trial.why.message))
        else await trial.over(this.#parts.try({ ...request, node: { ...node, timeout_s }, grant }, trial))
      } finally {
        if (grant !== null) this.#parts.release(grant)
      }
    } catch (error) {
      // Only the claim is refused this way: it was withdrawn, or the engine ends.
      if (!(error instanceof ServiceError)) throw error
      trial.refused(error)
    } finally {
      clearTimeout(timer)
      gone?.removeEventListener('abort', leave)
    }
    return trial
  }
}

const left = (): ServiceError => new ServiceError('interrupted', 'The client has left.')

/** One try: what its body says, as far as an answer has room for it. */
class Trial implements CallListener {
  readonly #request: TryRequest
  readonly #began_ms = performance.now()
  readonly #ended = Promise.withResolvers<void>()
  readonly #emissions: unknown[] = []
  readonly #log: TriedLine[] = []
  readonly #metrics: Record<string, number> = {}
  #report: TriedNode['report'] = null
  #call: RunCall | null = null
  #emitted = 0
  #log_dropped = 0
  #log_characters = 0
  /** Why the engine ends it. */
  why: { readonly code: ErrorCode; readonly message: string } | null = null
  #outcome: CallOutcome | null = null

  constructor(request: TryRequest) {
    this.#request = request
  }

  /** Resolves when its place is free or gone. */
  over(call: RunCall): Promise<void> {
    this.#call = call
    return this.#ended.promise
  }

  end(code: ErrorCode, message: string, claim: Waited | null): void {
    this.why ??= { code, message }
    if (this.#call !== null) this.#call.end(code, message)
    else claim?.cancel()
  }

  refused({ code, detail }: ServiceError): void {
    const why = this.why ?? { code, message: detail }
    this.#outcome = { type: 'threw', failure: { ...why, stack: null }, state: this.#request.state, ms: 0 }
  }

  // ---- what the body says

  emitted(outputs: unknown, processed: () => void): void {
    if (this.#emitted++ < limits.TRY_EMISSIONS_SHOWN) this.#emissions.push(outputs)
    if (this.#emitted === limits.TRY_EMISSIONS)
      this.#call?.end('emit_overflow', `It emitted ${limits.TRY_EMISSIONS} times; a try ends there.`)
    processed()
  }

  note(note: Note): void {
    switch (note.type) {
      case 'log':
        return this.#line(note.level, note.ts, note.text)
      case 'gauge':
        this.#metrics[note.name] = note.value
        return
      case 'report':
        this.#report = { status: note.status, text: note.text }
        return
      case 'dropped':
        if (note.reason === 'log_lines') this.#log_dropped += note.count
    }
  }

  #line(level: string, ts: number, text: string): void {
    this.#log_characters += text.length
    if (this.#log.length < limits.TRY_LINES && this.#log_characters <= limits.TRY_LOG_CHARACTERS)
      this.#log.push({ ts: formatTime(ts), level, text })
    else this.#log_dropped++
  }

  /** Those of batch runs come this way, and no try is one. */
  metrics(): void {}
  lines(): void {}
  artifact(): void {}

  ended(outcome: CallOutcome): void {
    this.#outcome = outcome
    this.#ended.resolve()
  }

  // ---- what is answered

  result(): TriedNode {
    const { inputs, node } = this.#request
    const outcome = this.#outcome!
    const shown = new ShownValues()
    const outputs = outcome.type === 'returned' ? (outcome.outputs ?? null) : null
    return {
      error: outcome.type === 'threw' ? errorOf(outcome.failure, node.digest) : null,
      outputs: outputs === null ? null : shown.ports('outputs', outputs),
      inputs: shown.ports('inputs', inputs),
      emissions: this.#emissions.map((outputs, at) => shown.ports(`emissions[${at}]`, outputs)),
      emitted: this.#emitted,
      log: this.#log,
      log_dropped: this.#log_dropped,
      metrics: this.#metrics,
      report: this.#report,
      state: shown.value('state', outcome.state) as TriedNode['state'],
      duration_s: (outcome.ms > 0 ? outcome.ms : performance.now() - this.#began_ms) / 1000,
      left_out: shown.left_out,
    }
  }
}

/** Values for an answer, as long as there is room. */
class ShownValues {
  readonly left_out: string[] = []
  #left = limits.TRY_ANSWER_BYTES

  value(place: string, value: unknown): unknown {
    const most = Math.min(this.#left, limits.TRY_VALUE_BYTES)
    const weight = jsonWeight(value, most)
    if (weight <= most) {
      this.#left -= weight
      return value
    }
    if (this.left_out.length < limits.ERROR_PLACES) this.left_out.push(place)
    return null
  }

  ports(place: string, values: unknown): Record<string, unknown> {
    const shown: Record<string, unknown> = {}
    for (const [port, value] of Object.entries(values as object))
      shown[port] = value === undefined ? null : this.value(`${place}.${port}`, value)
    return shown
  }
}

/** Stripping types keeps positions, so the place in the body is that in the source. */
function errorOf(
  { code, message, stack }: { code: string; message: string; stack: string | null },
  digest: string | null,
): TriedError {
  for (const frame of stack?.split('\n') ?? []) {
    if (BODY_FILE.exec(frame)?.[1] !== digest) continue
    const place = /:(\d+):(\d+)\)?$/.exec(frame)
    if (place !== null) return { code, message, stack, line: Number(place[1]), column: Number(place[2]) }
  }
  return { code, message, stack, line: null, column: null }
}
