import { didYouMean, nearest } from '../../protocol/nearest.ts'
import { agrees } from '../../protocol/values/dtypes.ts'
import type { MessageDirectory } from '../fanout/topics.ts'
import type { LiveFlow, LiveMessage } from './flow.ts'

/** The messages that exist now: those that the present documents declare. */
export class MessageMap implements MessageDirectory {
  readonly #by_name = new Map<string, LiveMessage>()
  readonly #by_index: (string | undefined)[] = []
  readonly #of_flow = new Map<string, LiveMessage[]>()

  get(name: string): LiveMessage | undefined {
    return this.#by_name.get(name)
  }

  get size(): number {
    return this.#by_name.size
  }

  ofFlow(flow: string): readonly LiveMessage[] {
    return this.#of_flow.get(flow) ?? []
  }

  all(): Iterable<LiveMessage> {
    return this.#by_name.values()
  }

  /** Says that there is no such message, and which one may have been meant: of that flow, or of the flow that may have been meant. */
  noMessage(name: string): string {
    const flow = name.slice(0, Math.max(0, name.indexOf('.')))
    const meant = this.#of_flow.has(flow) ? flow : nearest(flow, this.#of_flow.keys())
    const names = (meant === null ? [] : this.ofFlow(meant)).map(message => message.name)
    const asked = meant === null ? name : `${meant}${name.slice(flow.length)}`
    const found = names.includes(asked) ? ` Did you mean "${asked}"?` : didYouMean(asked, names)
    return `There is no message "${name}".${found}`
  }

  indexOf(name: string): number {
    return this.#by_name.get(name)?.index ?? -1
  }

  nameOf(message: number): string {
    return this.#by_index[message] ?? ''
  }

  isMedia(message: number): boolean {
    const dtype = this.#by_name.get(this.nameOf(message))?.dtype
    return dtype !== undefined && agrees(dtype, 'artifact')
  }

  messagesOf(flow: string): readonly number[] | null {
    return this.#of_flow.get(flow)?.map(message => message.index) ?? null
  }

  /** Takes what the flow's present plan declares; answers the indexes of messages that it no longer does. */
  set(flow: LiveFlow): number[] {
    const before = new Set(this.remove(flow.name))
    const producers = new Map<string, string>()
    const declared = new Set(flow.document.inputs.map(input => input.message))
    for (const node of flow.document.nodes) {
      for (const port of node.ports.outputs) {
        producers.set(port.message, `${flow.name}.${node.id}`)
        declared.add(port.message)
      }
    }
    const messages: LiveMessage[] = []
    for (const planned of flow.plan.messages) {
      const short = planned.name.slice(flow.name.length + 1)
      if (!planned.own || !declared.has(short)) continue
      const route = {
        message: planned.index,
        flow: flow.index,
        queued: planned.queued && flow.enabled,
        foreign: planned.foreign,
        downstream: planned.downstream,
      }
      const publisher = producers.get(short) ?? null
      const message: LiveMessage = {
        name: planned.name,
        flow: flow.name,
        index: planned.index,
        dtype: planned.dtype,
        publisher,
        route,
        enabled: flow.enabled,
      }
      messages.push(message)
      before.delete(planned.index)
      this.#by_name.set(planned.name, message)
      this.#by_index[planned.index] = planned.name
    }
    this.#of_flow.set(flow.name, messages)
    return [...before]
  }

  /** Answers the indexes that went. */
  remove(flow: string): number[] {
    const messages = this.#of_flow.get(flow) ?? []
    for (const message of messages) {
      this.#by_name.delete(message.name)
      this.#by_index[message.index] = undefined
    }
    this.#of_flow.delete(flow)
    return messages.map(message => message.index)
  }
}
