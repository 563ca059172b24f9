/**
 * The id of a cascade on the wire: a UUIDv7 made of what its record holds, so that it is stored nowhere.
 *
 *   48 bits  milliseconds since 1970 of `started_us`
 *    4 bits  7
 *   12 bits  engine epoch, high
 *    2 bits  binary 10
 *   12 bits  engine epoch, low
 *   50 bits  the cascade's number within that epoch
 */
const SEQ_END = 2 ** 50
const EPOCH_END = 2 ** 24
const CASCADE_ID = /^([0-9a-f]{8})-([0-9a-f]{4})-7([0-9a-f]{3})-([89ab][0-9a-f]{3})-([0-9a-f]{12})$/

export interface CascadeKey {
  started_ms: number
  engine_epoch: number
  seq: number
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0')

/** `engine_epoch` counts the engine's starts (1..2^24-1), `started_us` is microseconds since 1970, `seq` counts from 1. */
export function cascadeId(engine_epoch: number, started_us: number, seq: number): string {
  if (!(seq >= 0 && seq < SEQ_END)) throw new RangeError(`cascade seq ${seq} is out of range`)
  if (!(engine_epoch >= 0 && engine_epoch < EPOCH_END)) throw new RangeError(`epoch ${engine_epoch} is out of range`)
  const time = hex(Math.floor(started_us / 1000), 12)
  const top = 2 ** 31 + (engine_epoch % 4096) * 2 ** 18 + Math.floor(seq / 2 ** 32)
  const high = hex(top, 8)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(Math.floor(engine_epoch / 4096), 3)}-${high.slice(0, 4)}-${high.slice(4)}${hex(seq % 2 ** 32, 8)}`
}

/** Null when the text is no id that `cascadeId` could have made. */
export function parseCascadeId(text: string): CascadeKey | null {
  const match = CASCADE_ID.exec(text)
  if (!match) return null
  const started_ms = Number.parseInt(match[1]! + match[2]!, 16)
  const top = Number.parseInt(match[4]! + match[5]!.slice(0, 4), 16) - 2 ** 31
  const low = Number.parseInt(match[5]!.slice(4), 16)
  const epoch = Number.parseInt(match[3]!, 16) * 4096 + Math.floor(top / 2 ** 18)
  return { started_ms, engine_epoch: epoch, seq: (top % 2 ** 18) * 2 ** 32 + low }
}
