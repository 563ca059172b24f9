import { asEarlier } from '../cascades/earlier.ts'
import { putVarint, unzigzag, VarintReader, zigzag } from '../history/varint.ts'
import type { WaitingItem, WaitingItems, WaitingRun } from './items.ts'

/**
 * The items of one flow in their order: `u8 format 2`, then runs of `varint message, version, depth << 4 | child << 3 | group, length`,
 * and for children number and time of the parent, as zigzag differences to those of the child before. The items of a run have
 * versions one after the other and one parent, so a backlog of one message is a few bytes. Format 1 had no parents.
 */
const FORMAT = 2
const LONGEST_RUN = 6 * 8
const CHILD = 8

export class WaitingEncoder {
  #bytes = Buffer.allocUnsafeSlow(4096)
  #parent_seq = 0
  #parent_ts = 0

  /** `row` turns a message as the items name it into what is stored, `epoch` is this engine's. Valid until the next call. */
  encode(items: WaitingItems, row: (message: number) => number, epoch: number): Buffer {
    this.#parent_seq = this.#parent_ts = 0
    this.#bytes[0] = FORMAT
    let at = 1
    items.eachRun(run => {
      at = this.#put(at, run, row, epoch)
    })
    return this.#bytes.subarray(0, at)
  }

  #put(
    at: number,
    { message, version, depth, group, parent_seq, parent_ts, length }: WaitingRun,
    row: (n: number) => number,
    epoch: number,
  ): number {
    if (at + LONGEST_RUN > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(this.#bytes.length * 2)
      this.#bytes.copy(grown, 0, 0, at)
      this.#bytes = grown
    }
    const bytes = this.#bytes
    at = putVarint(bytes, at, row(message))
    at = putVarint(bytes, at, version)
    at = putVarint(bytes, at, (depth << 4) | (parent_seq === 0 ? 0 : CHILD) | group)
    at = putVarint(bytes, at, length)
    if (parent_seq === 0) return at
    const ts = asEarlier(parent_ts, epoch)
    at = putVarint(bytes, at, zigzag(parent_seq - this.#parent_seq))
    at = putVarint(bytes, at, zigzag(ts - this.#parent_ts))
    this.#parent_seq = parent_seq
    this.#parent_ts = ts
    return at
  }
}

/** Throws a RangeError when they are damaged. */
export function decodeWaiting(bytes: Uint8Array, most: number): WaitingItem[] {
  if (bytes[0] !== FORMAT && bytes[0] !== 1) throw new RangeError(`waiting items of format ${bytes[0]} are unknown`)
  const reader = new VarintReader(bytes, 1)
  const items: WaitingItem[] = []
  let seq = 0
  let ts = 0
  while (reader.at < bytes.length) {
    const message = reader.next()
    const version = reader.next()
    const place = reader.next()
    const length = reader.next()
    if (items.length + length > most)
      throw new RangeError(`waiting items of ${bytes.length} bytes claim more than ${most}`)
    const child = (place & CHILD) !== 0
    if (child) {
      seq += unzigzag(reader.next())
      ts += unzigzag(reader.next())
    }
    const parent = { parent_seq: child ? seq : 0, parent_ts: child ? ts : 0 }
    for (let more = 0; more < length; more++)
      items.push({ message, version: version + more, depth: place >> 4, group: place & 7, ...parent })
  }
  return items
}
