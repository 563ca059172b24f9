import { BOX_PX, type Box, type Graph, heightOf } from './graph.ts'

/**
 * Where boxes without a position stand: in columns, each behind all that it reads, in the order in which their wires cross least. A wire that
 * leads back (a cycle) does not count. Boxes that have a position keep it, unless all have the same one; a label stands before the first box that
 * reads it.
 */

const GAP_X = 76
const GAP_Y = 24
const ROUNDS = 4

export type Positions = ReadonlyMap<string, { readonly x: number; readonly y: number }>

export function layoutOf({ boxes, wires }: Graph): Positions {
  const next = new Map<string, string[]>()
  const before = new Map<string, string[]>()
  const forward = withoutCycles(boxes, wires)
  for (const { from, to } of forward) {
    next.set(from, [...(next.get(from) ?? []), to])
    before.set(to, [...(before.get(to) ?? []), from])
  }
  const columns = columnsOf(boxes, before)
  // What nothing leads to stands just before the first that reads it.
  for (const { id } of boxes) {
    const readers = next.get(id) ?? []
    if (!before.has(id) && readers.length > 0) columns.set(id, Math.min(...readers.map(one => columns.get(one)!)) - 1)
  }
  const least = Math.min(0, ...columns.values())
  const by_column = new Map<number, Box[]>()
  for (const box of boxes) {
    const column = columns.get(box.id)! - least
    by_column.set(column, [...(by_column.get(column) ?? []), box])
  }
  const order = [...by_column.keys()].sort((a, b) => a - b)
  const places = new Map<string, number>()
  const number = (column: Box[]): void => {
    for (const [at, { id }] of column.entries()) places.set(id, at)
  }
  for (const at of order) number(by_column.get(at)!)
  for (let round = 0; round < ROUNDS; round++) {
    const isDown = round % 2 === 0
    for (const at of isDown ? order : order.toReversed()) {
      const column = by_column.get(at)!
      const middles = new Map(column.map(({ id }) => [id, middleOf(id, isDown ? before : next, places)]))
      column.sort((a, b) => middles.get(a.id)! - middles.get(b.id)!)
      number(column)
    }
  }
  const positions = new Map<string, { x: number; y: number }>()
  for (const at of order) {
    let y = 0
    for (const box of by_column.get(at)!) {
      positions.set(box.id, { x: at * (BOX_PX + GAP_X), y })
      y += heightOf(box) + GAP_Y
    }
  }
  keepGiven(boxes, next, positions)
  return positions
}

function keepGiven(
  boxes: readonly Box[],
  next: ReadonlyMap<string, string[]>,
  positions: Map<string, { x: number; y: number }>,
): void {
  const given = boxes.filter(({ position }) => position !== null)
  const places = new Set(given.map(({ position }) => `${position!.x} ${position!.y}`))
  if (given.length > 1 && places.size === 1) return
  const before = new Map<string, number>()
  for (const { id, position } of given) positions.set(id, { ...position! })
  for (const box of boxes) {
    const reader = box.kind === 'node' ? null : boxes.find(({ id }) => next.get(box.id)?.includes(id))
    if (reader?.position == null) continue
    const nth = before.get(reader.id) ?? 0
    before.set(reader.id, nth + 1)
    const { x, y } = reader.position
    positions.set(box.id, { x: x - BOX_PX - GAP_X, y: y + nth * (heightOf(box) + GAP_Y / 2) })
  }
}

const middleOf = (
  id: string,
  neighbours: ReadonlyMap<string, string[]>,
  places: ReadonlyMap<string, number>,
): number => {
  const of = neighbours.get(id)
  if (of === undefined) return places.get(id)!
  return of.reduce((sum, one) => sum + places.get(one)!, 0) / of.length
}

/** By a walk in depth: a wire to a box that the walk is still within leads back. */
function withoutCycles(boxes: readonly Box[], wires: Graph['wires']): Graph['wires'] {
  const out = new Map<string, Graph['wires'][number][]>()
  for (const wire of wires) out.set(wire.from, [...(out.get(wire.from) ?? []), wire])
  const state = new Map<string, 'open' | 'done'>()
  const back = new Set<string>()
  for (const { id: root } of boxes) {
    if (state.has(root)) continue
    const stack = [{ id: root, at: 0 }]
    state.set(root, 'open')
    while (stack.length > 0) {
      const top = stack.at(-1)!
      const wire = out.get(top.id)?.[top.at++]
      if (wire === undefined) {
        state.set(top.id, 'done')
        stack.pop()
      } else if (state.get(wire.to) === 'open') back.add(wire.id)
      else if (!state.has(wire.to)) {
        state.set(wire.to, 'open')
        stack.push({ id: wire.to, at: 0 })
      }
    }
  }
  return wires.filter(({ id }) => !back.has(id))
}

/** Of each box the longest way from a box that reads nothing. */
function columnsOf(boxes: readonly Box[], before: ReadonlyMap<string, string[]>): Map<string, number> {
  const columns = new Map<string, number>()
  const waiting = [...boxes.map(({ id }) => id)].reverse()
  while (waiting.length > 0) {
    const id = waiting.at(-1)!
    const open = (before.get(id) ?? []).filter(one => !columns.has(one))
    if (open.length > 0) {
      waiting.push(...open)
      continue
    }
    waiting.pop()
    if (!columns.has(id)) columns.set(id, Math.max(-1, ...(before.get(id) ?? []).map(one => columns.get(one)!)) + 1)
  }
  return columns
}
