import { limits } from '../../protocol/limits.ts'
import type { Flow } from './flow.ts'
import type { Host, Ingress } from './host.ts'
import type { OpenWaves } from './open-waves.ts'
import { asTaken, bytesOf } from './plan-run.ts'
import { GROUP, type TakenItem } from './queue/item.ts'
import { Cascade, type Wave } from './wave.ts'

/** Begins cascades: each method answers the first wave, ready to run. */
export class Beginning {
  /** How many items the last cascade has taken. */
  items = 0
  readonly #flow: Flow
  readonly #host: Host
  readonly #waves: OpenWaves

  constructor(flow: Flow, host: Host, waves: OpenWaves) {
    this.#flow = flow
    this.#host = host
    this.#waves = waves
  }

  /** With the item, and those that were published for this flow with it. */
  fromItem(item: TakenItem, ingress: Ingress, now_us: number): Wave {
    const flow = this.#flow
    const { run } = flow
    const waves = this.#waves
    const cascade = new Cascade()
    cascade.seq = this.#host.nextSeq()
    cascade.message = item.message
    cascade.root_version = item.version
    cascade.depth = item.depth
    cascade.parent_seq = item.parent_seq
    cascade.parent_ts = item.parent_ts
    cascade.item = item.item
    cascade.started_us = now_us
    cascade.root_ts = item.root_ts
    cascade.root_ms = waves.now_ms - Math.max(0, now_us - item.root_ts) / 1000
    this.#host.begun(flow, cascade)
    waves.tick()
    const wave = waves.begin(run, cascade, item.depth, run.newBackEdgeCount())
    this.#enter(item, wave)
    this.items = 1
    while ((item.group & GROUP.goes_on) !== 0 && ingress.takeJoined(flow.index, item)) {
      this.items++
      this.#enter(item, wave)
    }
    cascade.items = this.items
    flow.hasTaken = true
    wave.queued = true
    return wave
  }

  /** The item's value, and its readers, in the first wave of its cascade. */
  #enter(item: TakenItem, wave: Wave): void {
    const { run, cascade } = wave
    const position = run.plan.by_message.get(item.message)
    const message = position === undefined ? null : run.plan.messages[position]!
    if (position === undefined || !message!.queued) {
      cascade.errors++
      this.#host.planChanged(this.#flow, null, cascade)
      return
    }
    const value = asTaken(item.value, this.#host.codec)
    wave.at_ms = this.#waves.now_ms - Math.max(0, cascade.started_us - item.ts) / 1000
    if ((item.group & GROUP.again) !== 0) run.lend(position, value, 0, wave.at_ms, wave)
    else run.apply(position, value, item.version, wave, this.#waves.mixed)
    this.#waves.keeps(wave, item.value.length)
    const { readers } = message!
    if (item.depth > limits.WAVE_DEPTH) {
      // All items of a group have the same depth: it is reported once.
      if ((item.group & GROUP.joins) !== 0) return
      this.#waves.broken(cascade, run, readers[0] ?? 0, `deeper than ${limits.WAVE_DEPTH} through other flows`)
      cascade.errors++
      return
    }
    for (let at = 0; at < readers.length; at++) wave.activate(readers[at]!)
  }

  /**
   * Takes so many items without starting a cascade: their values are kept as seeded ones are, and wake nobody. Answers the
   * number of items taken.
   */
  purge(item: TakenItem, ingress: Ingress, most: number): number {
    const flow = this.#flow
    const { run } = flow
    const waves = this.#waves
    waves.tick()
    const wave = waves.begin(run, new Cascade(), 0, run.newBackEdgeCount())
    let purged = 0
    while (purged < most && ingress.take(flow.index, item)) {
      purged++
      flow.hasTaken = true
      const position = run.plan.by_message.get(item.message)
      const message = position === undefined ? null : run.plan.messages[position]!
      if (message?.queued) run.apply(position!, asTaken(item.value, this.#host.codec), item.version, wave, waves.mixed)
    }
    waves.close(wave)
    return purged
  }

  /**
   * From several values at once, as a batch run does: one wave, in which every node that reads one of them runs once.
   * `values` by position in the plan's messages, as readers get them; `sources` are nodes that read nothing.
   */
  fromValues(values: ReadonlyMap<number, unknown>, sources: readonly number[], now_us: number): Wave {
    const { run } = this.#flow
    const waves = this.#waves
    const cascade = new Cascade()
    cascade.seq = this.#host.nextSeq()
    cascade.started_us = cascade.root_ts = now_us
    cascade.root_ms = this.#waves.now_ms
    this.#host.begun(this.#flow, cascade)
    waves.tick()
    const wave = waves.begin(run, cascade, 0, run.newBackEdgeCount())
    wave.at_ms = cascade.root_ms
    for (const [position, value] of values) {
      run.apply(position, value, 1, wave, false)
      waves.keeps(wave, bytesOf(value))
      for (const reader of run.plan.messages[position]!.readers) wave.activate(reader)
    }
    for (const position of sources) wave.activate(position)
    wave.queued = true
    waves.keepOpen(cascade)
    return wave
  }
}
