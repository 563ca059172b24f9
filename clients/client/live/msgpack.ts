/**
 * Reads msgpack that has nothing but what JSON has: the header of a media frame. Its own, so that the client needs no package in
 * browsers. Throws a RangeError when the bytes are something else.
 */
export function unpackPlain(bytes: Uint8Array): unknown {
  const reader = new Reader(bytes)
  const value = reader.value()
  if (reader.at !== bytes.length) throw new RangeError(`${bytes.length - reader.at} bytes stand behind the value`)
  return value
}

const decoder = new TextDecoder()

class Reader {
  at = 0
  readonly #bytes: Uint8Array
  readonly #view: DataView

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  value(): unknown {
    const head = this.#unsigned(1)
    if (head <= 0x7f) return head
    if (head >= 0xe0) return head - 0x100
    if (head <= 0x8f) return this.#map(head & 0x0f)
    if (head <= 0x9f) return this.#list(head & 0x0f)
    if (head <= 0xbf) return this.#text(head & 0x1f)
    switch (head) {
      case 0xc0:
        return null
      case 0xc2:
        return false
      case 0xc3:
        return true
      case 0xca:
        return this.#view.getFloat32(this.#skip(4))
      case 0xcb:
        return this.#view.getFloat64(this.#skip(8))
      case 0xcc:
      case 0xcd:
      case 0xce:
        return this.#unsigned(2 ** (head - 0xcc))
      case 0xcf:
        return Number(this.#view.getBigUint64(this.#skip(8)))
      case 0xd0:
        return this.#view.getInt8(this.#skip(1))
      case 0xd1:
        return this.#view.getInt16(this.#skip(2))
      case 0xd2:
        return this.#view.getInt32(this.#skip(4))
      case 0xd3:
        return Number(this.#view.getBigInt64(this.#skip(8)))
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#text(this.#unsigned(2 ** (head - 0xd9)))
      case 0xdc:
      case 0xdd:
        return this.#list(this.#unsigned(2 ** (head - 0xdb)))
      case 0xde:
      case 0xdf:
        return this.#map(this.#unsigned(2 ** (head - 0xdd)))
      default:
        throw new RangeError(`byte ${head} begins no plain value`)
    }
  }

  #list(length: number): unknown[] {
    const list: unknown[] = []
    for (let at = 0; at < length; at++) list.push(this.value())
    return list
  }

  #map(length: number): Record<string, unknown> {
    const entries: [string, unknown][] = []
    for (let at = 0; at < length; at++) entries.push([String(this.value()), this.value()])
    return Object.fromEntries(entries)
  }

  #text(length: number): string {
    const from = this.#skip(length)
    return decoder.decode(this.#bytes.subarray(from, this.at))
  }

  /** Of 1, 2 or 4 bytes. */
  #unsigned(bytes: number): number {
    const from = this.#skip(bytes)
    return bytes === 1
      ? this.#view.getUint8(from)
      : bytes === 2
        ? this.#view.getUint16(from)
        : this.#view.getUint32(from)
  }

  #skip(bytes: number): number {
    const from = this.at
    this.at += bytes
    if (this.at > this.#bytes.length) throw new RangeError('the bytes end inside a value')
    return from
  }
}
