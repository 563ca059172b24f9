import type { Steps } from '../../../core/steps.ts'
import type { EngineFigures, FlowFigures, FlowRow, NodeFigures } from '../../../protocol/socket/figures.ts'

/** A flow, or the engine, as it was at one moment: the members of its frame, and those that are records. */
export interface Taken<Head, Records> {
  readonly head: Head
  readonly records: Records
}

export type TakenFlow = Taken<
  Omit<FlowFigures, 'whole' | 'nodes' | 'messages'>,
  { readonly nodes: ReadonlyMap<string, NodeFigures>; readonly messages: ReadonlyMap<string, number> }
>
export type TakenEngine = Taken<
  Omit<EngineFigures, 'whole' | 'flows'>,
  { readonly flows: ReadonlyMap<string, FlowRow> }
>

/** The entries of each record as text, by key. */
type Entries = readonly [record: string, entries: ReadonlyMap<string, string>][]

/** The frames of what was taken, each written once however many sockets get it. */
export class FigureFrames {
  readonly #head: string
  readonly #entries: Entries
  #whole: Buffer | null = null
  #changed: Buffer | null = null

  private constructor(head: string, entries: Entries) {
    this.#head = head
    this.#entries = entries
  }

  static *of({ head, records }: Taken<object, object>): Steps<FigureFrames> {
    const entries: [string, Map<string, string>][] = []
    for (const [record, values] of Object.entries(records) as [string, ReadonlyMap<string, unknown>][]) {
      const texts = new Map<string, string>()
      for (const [key, value] of values) {
        texts.set(key, `${JSON.stringify(key)}:${JSON.stringify(value)}`)
        yield
      }
      entries.push([record, texts])
    }
    return new FigureFrames(JSON.stringify(head).slice(0, -1), entries)
  }

  whole(): Buffer {
    return (this.#whole ??= this.#frame(true, this.#entries))
  }

  /** What differs from the frames of the round before, for those who got them; whole when something has gone. */
  changed(before: FigureFrames): Buffer {
    return (this.#changed ??= this.#since(before) ?? this.whole())
  }

  #since(before: FigureFrames): Buffer | null {
    const changed: [string, ReadonlyMap<string, string>][] = []
    for (const [at, [record, entries]] of this.#entries.entries()) {
      const old = before.#entries[at]![1]
      const others = new Map<string, string>()
      let kept = 0
      for (const [key, text] of entries) {
        const was = old.get(key)
        if (was !== undefined) kept++
        if (was !== text) others.set(key, text)
      }
      if (kept < old.size) return null
      changed.push([record, others])
    }
    return this.#frame(false, changed)
  }

  #frame(whole: boolean, records: Entries): Buffer {
    let text = `${this.#head},"whole":${whole}`
    for (const [record, entries] of records) text += `,"${record}":{${[...entries.values()].join(',')}}`
    return Buffer.from(`${text}}`)
  }
}
