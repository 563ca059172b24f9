import { topicFault } from './mqtt-topics.ts'

/** A place in a template: an input port, and members within its value. */
interface Place {
  readonly port: string
  readonly path: readonly string[]
}

const PLACE = /\{([^{}]*)\}/g

/** A topic with places: `plant/{machine}/{reading.unit}/alarm`. */
export class TopicTemplate {
  readonly #texts: string[] = []
  readonly #places: Place[] = []

  constructor(template: string) {
    let from = 0
    for (const { 0: whole, 1: inner = '', index } of template.matchAll(PLACE)) {
      const [port = '', ...path] = inner.split('.')
      this.#texts.push(template.slice(from, index))
      this.#places.push({ port, path })
      from = index + whole.length
    }
    this.#texts.push(template.slice(from))
  }

  /** Input ports that it names. */
  get ports(): string[] {
    return [...new Set(this.#places.map(({ port }) => port))]
  }

  /** Why the template itself can never make a topic; null: it can. */
  get fault(): string | null {
    if (this.#texts.some(text => /[{}]/.test(text))) return 'a brace is not closed'
    return topicFault(this.#texts.join('x'))
  }

  /** The topic, or a sentence why there is none. */
  render(inputs: Readonly<Record<string, unknown>>): { topic: string } | { fault: string } {
    if (this.#places.length === 0) return { topic: this.#texts[0]! }
    let topic = this.#texts[0]!
    for (const [at, place] of this.#places.entries()) {
      const value = valueAt(inputs, place)
      const name = `{${[place.port, ...place.path].join('.')}}`
      if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
        return {
          fault: `${name} is ${value === undefined ? 'missing' : value === null ? 'null' : 'not a text, number or truth value'}`,
        }
      topic += String(value) + this.#texts[at + 1]!
    }
    const fault = topicFault(topic)
    return fault === null ? { topic } : { fault: `${JSON.stringify(topic.slice(0, 200))}: ${fault}` }
  }
}

function valueAt(inputs: Readonly<Record<string, unknown>>, { port, path }: Place): unknown {
  let value: unknown = Object.hasOwn(inputs, port) ? inputs[port] : undefined
  for (const member of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, member)) return undefined
    value = (value as Record<string, unknown>)[member]
  }
  return value
}
