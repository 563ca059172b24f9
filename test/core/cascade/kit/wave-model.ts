import type { Plan, PlanInputPort, PlanNode } from '../../../../core/flow/plan.ts'
import { isFollowed } from '../../../kit/flow-story.ts'
import { before, outputsOf, type Script } from './random-flow.ts'

interface Wave {
  readonly plan: ModelPlan
  /** Positions of the nodes that it has woken and not run. */
  readonly woken: Set<number>
  /** What was published in it, by message index. */
  readonly own: Map<number, unknown>
}

/** A plan and the values as its cascades see them. */
interface ModelPlan {
  readonly plan: Plan
  readonly values: Map<number, unknown>
  next: ModelPlan | null
}

interface Item {
  message: number
  value: unknown
}

/**
 * What a flow of bodies that never go away must do, written to be read: one wave after the other, each from its first node to its
 * last; what a node starts beside the wave comes after that wave and before all that was started earlier; what goes back round a
 * loop comes when all that is done, and the next item after that.
 */
export class WaveModel {
  /** As a story tells it. */
  readonly told: string[] = []
  begun = 0
  readonly waited: string[] = []

  readonly script: (id: string, ports: readonly string[], nth: number) => Script
  readonly #queue: Item[] = []
  /** The first to run stands last. */
  readonly #waves: Wave[] = []
  /** What goes back round a loop, in order. */
  readonly #back: Wave[] = []
  readonly #table: Map<number, unknown>
  /** Of queued messages: the value before the first item. */
  readonly #before = new Map<number, unknown>()
  readonly #nth = new Map<string, number>()
  #plan: ModelPlan

  /** `table`: the values of messages before the first turn, by index. */
  constructor(plan: Plan, table: Map<number, unknown>, script: WaveModel['script']) {
    this.script = script
    this.#table = new Map(table)
    this.#plan = { plan, values: new Map(table), next: null }
  }

  publish(message: number, value: unknown): void {
    if (isFollowed(this.#plan.plan, message)) {
      if (!this.#isQueued(message)) this.#before.set(message, this.#table.get(message))
      this.#queue.push({ message, value })
    }
    this.#table.set(message, value)
  }

  #isQueued(message: number): boolean {
    return this.#queue.some(item => item.message === message)
  }

  deploy(plan: Plan): void {
    const old = this.#plan
    const values = new Map(this.#table)
    // What waits in the queue does not count: it is of later cascades. It may have been left there by a plan before the last one.
    for (const { message } of this.#queue) values.set(message, this.#before.get(message))
    for (const { index } of old.plan.messages) {
      // Of what was followed, the values are those that the cascades of the last plan have brought.
      if (!isFollowed(old.plan, index)) continue
      if (old.values.has(index)) values.set(index, old.values.get(index))
      else values.delete(index)
    }
    this.#plan = { plan, values, next: null }
    old.next = this.#plan
  }

  /** Runs until as many cascades have begun, as many lines were told and as many nodes waited for an input. */
  reach(begun: number, lines: number, waited: number): void {
    const isThere = () => this.begun >= begun && this.told.length >= lines && this.waited.length >= waited
    while (!isThere() && this.#step()) {}
  }

  finish(): void {
    while (this.#step()) {}
  }

  /** False when there is nothing left to do. */
  #step(): boolean {
    if (this.#waves.length === 0) this.#waves.push(...this.#back.splice(0, 1))
    const wave = this.#waves.at(-1)
    if (wave === undefined) return this.#begin()
    if (wave.woken.size === 0) {
      this.#waves.pop()
      return true
    }
    const position = Math.min(...wave.woken)
    wave.woken.delete(position)
    const started = this.#execute(wave, wave.plan.plan.nodes[position]!)
    this.#waves.splice(this.#waves.indexOf(wave), 0, ...started.reverse())
    return true
  }

  #begin(): boolean {
    const item = this.#queue.shift()
    if (item === undefined) return false
    this.#before.set(item.message, item.value)
    this.begun++
    const plan = this.#plan
    if (!isFollowed(plan.plan, item.message)) return true
    const { readers } = plan.plan.messages[plan.plan.by_message.get(item.message)!]!
    const wave: Wave = { plan, woken: new Set(readers), own: new Map() }
    this.#apply(wave, item.message, item.value)
    this.#waves.push(wave)
    return true
  }

  /** Answers the waves that it starts, the first one first. */
  #execute(wave: Wave, { id, inputs, outputs }: PlanNode): Wave[] {
    const { plan } = wave
    const read = ({ message, port }: PlanInputPort): [string, unknown] => {
      const { index, own, readers } = plan.plan.messages[message]!
      if (!own && readers.length === 0) return [port, this.#table.get(index)]
      return [port, wave.own.get(index) ?? plan.values.get(index)]
    }
    const values = inputs.map(read)
    if (values.some(([, value]) => value === undefined)) {
      this.waited.push(id)
      return []
    }
    this.told.push([id, ...values.map(([port, value]) => `${port}=${value}`)].join(' '))
    const nth = this.#nth.get(id) ?? 0
    this.#nth.set(id, nth + 1)
    const script = this.script(
      id,
      outputs.map(({ port }) => port),
      nth,
    )
    const started: Wave[] = []
    const emissions = before(script) + (script.end === 'returns' ? 1 : 0)
    for (let at = 0; at < emissions; at++) {
      const own = at === 0 ? wave : { plan, woken: new Set<number>(), own: new Map() }
      if (at > 0) started.push(own)
      const emitted = outputsOf(script, id, nth, at)
      for (const { port, message, forward, back } of outputs) {
        if (!(port in emitted)) continue
        const { index } = plan.plan.messages[message]!
        this.told.push(`${port}=${emitted[port]}`)
        this.#table.set(index, emitted[port])
        this.#apply(own, index, emitted[port])
        for (const reader of forward) own.woken.add(reader)
        if (back.length > 0) this.#back.push({ plan, woken: new Set(back), own: new Map([[index, emitted[port]]]) })
      }
    }
    return started
  }

  /** Later plans see what the cascades of earlier ones bring. */
  #apply(wave: Wave, message: number, value: unknown): void {
    wave.own.set(message, value)
    for (let plan: ModelPlan | null = wave.plan; plan !== null; plan = plan.next) plan.values.set(message, value)
  }
}
