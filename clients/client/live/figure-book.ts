import type { EngineFigures, FlowFigures } from '../../../protocol/socket/figures.ts'

/** What the engine counts: of these flows, and of the engine with one row a flow. */
export interface FiguresOf {
  readonly flows?: readonly string[]
  readonly engine?: boolean
}

/** All that is counted of a flow whose figures are followed. */
export type FlowFigureValues = Omit<FlowFigures, 'type' | 'whole'>
/** All that is counted of the engine, with one row a flow. */
export type EngineFigureValues = Omit<EngineFigures, 'type' | 'whole'>

/** Puts the frames of one thing together, which tell what has changed. */
export class FigureBook {
  readonly #flows = new Map<string, FlowFigureValues>()
  #engine: EngineFigureValues | null = null

  /** Another connection begins with whole frames. */
  clear(): void {
    this.#flows.clear()
    this.#engine = null
  }

  /** Null: it tells a change of something that is followed no more. */
  flow({ type: _, whole, ...frame }: FlowFigures): FlowFigureValues | null {
    const before = whole ? undefined : this.#flows.get(frame.flow)
    if (!whole && before === undefined) return null
    const figures = {
      ...frame,
      nodes: { ...before?.nodes, ...frame.nodes },
      messages: { ...before?.messages, ...frame.messages },
    }
    this.#flows.set(frame.flow, figures)
    return figures
  }

  engine({ type: _, whole, ...frame }: EngineFigures): EngineFigureValues | null {
    if (!whole && this.#engine === null) return null
    this.#engine = { ...frame, flows: { ...(whole ? undefined : this.#engine?.flows), ...frame.flows } }
    return this.#engine
  }

  /** These and no others are followed from now on. */
  keep({ flows = [], engine = false }: FiguresOf): void {
    const kept = new Set(flows)
    for (const flow of this.#flows.keys()) if (!kept.has(flow)) this.#flows.delete(flow)
    if (!engine) this.#engine = null
  }
}
