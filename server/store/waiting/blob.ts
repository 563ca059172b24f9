import { putVarint, VarintReader } from '../history/varint.ts'
import type { WaitingItem } from './items.ts'

/**
 * The items of one flow in their order: `u8 format 1`, then runs of `varint message, version, depth << 4 | group, length`. The
 * items of a run have versions one after the other, so a backlog of one message is a few bytes.
 */
const FORMAT = 1
const LONGEST_RUN = 4 * 8

export class WaitingEncoder {
  #bytes = Buffer.allocUnsafeSlow(4096)

  /** `row` turns a message as the items name it into what is stored. Valid until the next call. */
  encode(items: Iterable<WaitingItem>, row: (message: number) => number): Buffer {
    this.#bytes[0] = FORMAT
    let at = 1
    let run: WaitingItem | null = null
    let length = 0
    for (const item of items) {
      if (run !== null && goesOn(run, length, item)) {
        length++
        continue
      }
      if (run !== null) at = this.#put(at, run, length, row)
      run = item
      length = 1
    }
    if (run !== null) at = this.#put(at, run, length, row)
    return this.#bytes.subarray(0, at)
  }

  #put(
    at: number,
    { message, version, depth, group }: WaitingItem,
    length: number,
    row: (n: number) => number,
  ): number {
    if (at + LONGEST_RUN > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(this.#bytes.length * 2)
      this.#bytes.copy(grown, 0, 0, at)
      this.#bytes = grown
    }
    const bytes = this.#bytes
    at = putVarint(bytes, at, row(message))
    at = putVarint(bytes, at, version)
    at = putVarint(bytes, at, (depth << 4) | group)
    return putVarint(bytes, at, length)
  }
}

const goesOn = (run: WaitingItem, length: number, item: WaitingItem): boolean =>
  item.message === run.message &&
  item.version === run.version + length &&
  item.depth === run.depth &&
  item.group === run.group

/** Throws a RangeError when they are damaged. */
export function decodeWaiting(bytes: Uint8Array, most: number): WaitingItem[] {
  if (bytes[0] !== FORMAT) throw new RangeError(`waiting items of format ${bytes[0]} are unknown`)
  const reader = new VarintReader(bytes, 1)
  const items: WaitingItem[] = []
  while (reader.at < bytes.length) {
    const message = reader.next()
    const version = reader.next()
    const place = reader.next()
    const length = reader.next()
    if (items.length + length > most)
      throw new RangeError(`waiting items of ${bytes.length} bytes claim more than ${most}`)
    for (let more = 0; more < length; more++)
      items.push({ message, version: version + more, depth: place >> 4, group: place & 15 })
  }
  return items
}
