import type { Plan } from '../../core/flow/plan.ts'

/** The shortest way from a node back to itself along its plan's trigger edges, as node ids; empty when there is none. */
export function loopThrough(plan: Plan, id: string): string[] {
  const start = plan.nodes.findIndex(node => node.id === id)
  if (start < 0) return []
  const from = new Map<number, number>()
  const queue = [start]
  for (let at = 0; at < queue.length; at++) {
    const position = queue[at]!
    for (const output of plan.nodes[position]!.outputs) {
      for (const reader of [...output.forward, ...output.back]) {
        if (reader === start) return wayTo(position, start, from).map(step => plan.nodes[step]!.id)
        if (from.has(reader)) continue
        from.set(reader, position)
        queue.push(reader)
      }
    }
  }
  return []
}

function wayTo(position: number, start: number, from: ReadonlyMap<number, number>): number[] {
  const way = [position]
  for (let step = position; step !== start; ) {
    step = from.get(step)!
    way.push(step)
  }
  return way.reverse()
}
