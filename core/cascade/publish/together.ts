import { GROUP } from '../queue/item.ts'
import type { Route } from './route.ts'

/**
 * The plan for each flow while several values are published with the publish words held once: where the planned items end in
 * its queue, and their bytes. Reused by one thread for one publish after the other.
 */
export class Together {
  /** Ascending. */
  flows: readonly number[] = []
  /** By place in `flows`. */
  readonly position: number[] = []
  readonly items: number[] = []
  readonly bytes: number[] = []
  /** Planned items that are not appended yet. */
  readonly left: number[] = []

  begin(flows: readonly number[]): void {
    this.flows = flows
    for (let place = 0; place < flows.length; place++) {
      this.position[place] = 0
      this.items[place] = 0
      this.bytes[place] = 0
    }
  }

  /** -1: no value goes there. */
  place(flow: number): number {
    const { flows } = this
    let low = 0
    let high = flows.length - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      const found = flows[middle]!
      if (found === flow) return middle
      if (found < flow) low = middle + 1
      else high = middle - 1
    }
    return -1
  }

  /** Bits of GROUP of the next item that the flow gets. */
  next(flow: number): number {
    const place = this.place(flow)
    const left = --this.left[place]!
    return (left < this.items[place]! - 1 ? GROUP.joins : 0) | (left > 0 ? GROUP.goes_on : 0)
  }

  add(place: number, position: number, bytes: number): void {
    this.position[place] = position
    this.items[place]!++
    this.bytes[place]! += bytes
  }
}

/** The flows that the values go to and the ones that their messages belong to, ascending. */
export function flowsOf(routes: readonly Route[]): number[] {
  const flows = new Set<number>()
  for (const { flow, foreign } of routes) {
    flows.add(flow)
    for (const other of foreign) flows.add(other)
  }
  return [...flows].sort((a, b) => a - b)
}

/** `flowsOf`, when another flow reads more than one of the messages: those are published together. Null: each by itself. */
export function sharedReaders(routes: readonly Route[]): readonly number[] | null {
  const seen = new Set<number>()
  for (const { foreign } of routes) {
    for (const other of foreign) {
      if (seen.has(other)) return flowsOf(routes)
      seen.add(other)
    }
  }
  return null
}
