import { limits } from '../limits.ts'

/**
 * Looks over the bytes of one msgpack value before anything is made of them: whole, alone, no deeper and with no more items than is
 * allowed, and of nothing but what JSON has. Answers what is wrong, or null. Extension types are refused, since a decoder may
 * run code for them; so are byte strings, keys that are no strings, and integers that a double does not hold.
 */
export function refuseUnlessPlain(bytes: Uint8Array, most_depth: number): string | null {
  const scan = new Scan(bytes, most_depth)
  if (!scan.value(0)) return scan.found
  return scan.at === bytes.length ? null : `${bytes.length - scan.at} bytes stand behind the value`
}

/** The high word of the largest integer that is safe in a double, 2^53 - 1. */
const HIGH_WORD = 0x1f_ffff

class Scan {
  at = 0
  found = ''
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #most_depth: number
  #items = 0

  constructor(bytes: Uint8Array, most_depth: number) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#most_depth = most_depth
  }

  value(depth: number): boolean {
    const { at } = this
    if (at >= this.#bytes.length) return this.#refuse('the frame ends inside a value')
    if (++this.#items > limits.WORKER_FRAME_ITEMS) return this.#refuse(`more than ${limits.WORKER_FRAME_ITEMS} items`)
    const head = this.#bytes[at]!
    this.at++
    if (head <= 0x7f || head >= 0xe0) return true
    if (head <= 0x8f) return this.#map(head & 0x0f, depth)
    if (head <= 0x9f) return this.#list(head & 0x0f, depth)
    if (head <= 0xbf) return this.#skip(head & 0x1f)
    switch (head) {
      case 0xc0: // nil
      case 0xc2: // false
      case 0xc3: // true
        return true
      case 0xca: // float 32
      case 0xce: // uint 32
      case 0xd2: // int 32
        return this.#skip(4)
      case 0xcb: // float 64
        return this.#skip(8)
      case 0xcc: // uint 8
      case 0xd0: // int 8
        return this.#skip(1)
      case 0xcd: // uint 16
      case 0xd1: // int 16
        return this.#skip(2)
      case 0xcf: // uint 64
        return this.#long(at + 1, high => high >= 0 && high <= HIGH_WORD)
      case 0xd3: // int 64
        return this.#long(
          at + 1,
          (high, low) => high <= HIGH_WORD && (high > ~HIGH_WORD || (high === ~HIGH_WORD && low !== 0)),
        )
      case 0xd9: // str 8, 16, 32
      case 0xda:
      case 0xdb:
        return this.#sized(head - 0xd9, length => this.#skip(length))
      case 0xdc: // array 16, 32
      case 0xdd:
        return this.#sized(head - 0xdc + 1, length => this.#list(length, depth))
      case 0xde: // map 16, 32
      case 0xdf:
        return this.#sized(head - 0xde + 1, length => this.#map(length, depth))
      default:
        return this.#refuse(`the type 0x${head.toString(16)}, which JSON does not have`)
    }
  }

  /** A length in 1, 2 or 4 bytes, by the power of two. */
  #sized(power: number, then: (length: number) => boolean): boolean {
    const { at } = this
    if (!this.#skip(1 << power)) return false
    return then(power === 0 ? this.#bytes[at]! : power === 1 ? this.#view.getUint16(at) : this.#view.getUint32(at))
  }

  #long(at: number, fits: (high: number, low: number) => boolean): boolean {
    if (!this.#skip(8)) return false
    return fits(this.#view.getInt32(at), this.#view.getInt32(at + 4)) || this.#refuse('an integer beyond 2^53')
  }

  #list(length: number, depth: number): boolean {
    if (depth >= this.#most_depth) return this.#refuse(`nested more than ${this.#most_depth} levels`)
    for (let item = 0; item < length; item++) if (!this.value(depth + 1)) return false
    return true
  }

  #map(length: number, depth: number): boolean {
    if (depth >= this.#most_depth) return this.#refuse(`nested more than ${this.#most_depth} levels`)
    for (let entry = 0; entry < length; entry++) if (!this.#key() || !this.value(depth + 1)) return false
    return true
  }

  /** A key named __proto__ is no data anywhere in the engine, and the decoder would rename it. */
  #key(): boolean {
    const { at } = this
    const head = this.#bytes[at] ?? 0
    const isText = (head >= 0xa0 && head <= 0xbf) || (head >= 0xd9 && head <= 0xdb)
    if (!isText) return this.#refuse('a key that is not a string')
    if (!this.value(0)) return false
    const begin = at + (head <= 0xbf ? 1 : 1 + (1 << (head - 0xd9)))
    if (this.at - begin !== PROTO.length || PROTO.some((byte, index) => this.#bytes[begin + index] !== byte))
      return true
    return this.#refuse('the key "__proto__", which is not allowed')
  }

  #skip(bytes: number): boolean {
    this.at += bytes
    return this.at <= this.#bytes.length || this.#refuse('the frame ends inside a value')
  }

  #refuse(found: string): false {
    this.found = found
    return false
  }
}

const PROTO = new TextEncoder().encode('__proto__')
