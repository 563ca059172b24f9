/**
 * Whole numbers of 0..2^53 in 1..8 bytes, seven bits a byte, low bits first. Differences go through `zigzag`, which turns a
 * sign into the lowest bit. The writers return the position behind what they wrote.
 */
export function putVarint(bytes: Uint8Array, at: number, value: number): number {
  if (value < 0x80) {
    bytes[at] = value
    return at + 1
  }
  // Integer operations as soon as the value fits 32 bits; divisions only above that.
  while (value >= 0x4000_0000) {
    bytes[at++] = (value % 128) | 0x80
    value = Math.floor(value / 128)
  }
  let rest = value | 0
  while (rest >= 0x80) {
    bytes[at++] = (rest & 0x7f) | 0x80
    rest >>>= 7
  }
  bytes[at++] = rest
  return at
}

export const zigzag = (value: number): number => (value >= 0 ? value * 2 : -value * 2 - 1)
export const unzigzag = (value: number): number => (value % 2 === 0 ? value / 2 : -(value + 1) / 2)

/** A cursor over encoded bytes. Reading past the end gives RangeError: a damaged chunk is never read as zeros. */
export class VarintReader {
  bytes: Uint8Array
  at: number

  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  reset(bytes: Uint8Array, at: number): this {
    this.bytes = bytes
    this.at = at
    return this
  }

  next(): number {
    const bytes = this.bytes
    const first = bytes[this.at]!
    if (first < 0x80) {
      this.at++
      return first
    }
    return this.#long()
  }

  nextSigned(): number {
    const value = this.next()
    if (value < 0x8000_0000) return (value >>> 1) ^ -(value & 1)
    return unzigzag(value)
  }

  #long(): number {
    const bytes = this.bytes
    let value = 0
    let scale = 1
    for (let count = 0; count < 8; count++) {
      const byte = bytes[this.at++]
      if (byte === undefined) throw new RangeError('encoded bytes end within a number')
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
      scale *= 128
    }
    throw new RangeError('an encoded number is longer than 8 bytes')
  }
}
