const PAGE_HEAD_BYTES = 27
/** Of a page (RFC 3533, section 6). */
const AT = { kind: 5, granule: 6, page: 18, checksum: 22, segments: 26 }
const LAST_PAGE = 4
/** In the first page: it has one segment, and the packet begins behind it. */
const PRE_SKIP_AT = PAGE_HEAD_BYTES + 1 + 10
/** Opus counts in 48 kHz, whatever the rate of its input (RFC 7845). */
export const OPUS_RATE = 48_000

/**
 * Cuts an Ogg stream of Opus into files that stand alone: each begins with the head and the tags of the stream, its pages are numbered from there, and
 * its time begins at 0. The stream has one packet in each page, so a file ends where a packet ends: at most 20 ms late.
 */
export class OpusCutter {
  readonly #samples: number
  readonly #give: (file: Buffer) => void
  #rest = Buffer.alloc(0)
  /** Head and tags. */
  #heads: Buffer[] = []
  #pages: Buffer[] = []
  /** Where the file began, and files so far. */
  #began = 0n
  #files = 0
  /** Samples at the start that are no sound. */
  #pre_skip = 0

  /** `samples`: how long a file is, in 48 kHz. */
  constructor(samples: number, give: (file: Buffer) => void) {
    this.#samples = samples
    this.#give = give
  }

  /** Null, or why the rest makes no sense. */
  push(bytes: Buffer): string | null {
    this.#rest = Buffer.concat([this.#rest, bytes])
    for (;;) {
      if (this.#rest.length < PAGE_HEAD_BYTES) return null
      if (this.#rest.toString('latin1', 0, 4) !== 'OggS') return 'ffmpeg wrote something else than Ogg'
      const segments = this.#rest[AT.segments]!
      const head = PAGE_HEAD_BYTES + segments
      if (this.#rest.length < head) return null
      let length = head
      for (let at = PAGE_HEAD_BYTES; at < head; at++) length += this.#rest[at]!
      if (this.#rest.length < length) return null
      // A copy: pages are written over.
      this.#page(Buffer.from(this.#rest.subarray(0, length)))
      this.#rest = this.#rest.subarray(length)
    }
  }

  #page(page: Buffer): void {
    if (this.#heads.length < 2) {
      if (this.#heads.push(page) === 1) this.#pre_skip = page.readUInt16LE(PRE_SKIP_AT)
      return
    }
    this.#pages.push(page)
    const granule = page.readBigInt64LE(AT.granule)
    // Counted from the start of the stream, so that the lengths do not add up to a drift.
    if (granule < BigInt(this.#samples) * BigInt(this.#files + 1) + BigInt(this.#pre_skip)) return
    const began = this.#began
    const pages = [...this.#heads.map(head => Buffer.from(head)), ...this.#pages]
    // What the encoder asks to skip is skipped at the start of the stream alone.
    if (this.#files > 0) pages[0]!.writeUInt16LE(0, PRE_SKIP_AT)
    for (const [at, one] of pages.entries()) {
      if (at >= 2) one.writeBigInt64LE(one.readBigInt64LE(AT.granule) - began, AT.granule)
      one.writeUInt32LE(at, AT.page)
      if (at === pages.length - 1) one[AT.kind] = one[AT.kind]! | LAST_PAGE
      one.writeUInt32LE(0, AT.checksum)
      one.writeUInt32LE(checksum(one), AT.checksum)
    }
    this.#began = granule
    this.#files++
    this.#pages = []
    this.#give(Buffer.concat(pages))
  }
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte << 24
  for (let bit = 0; bit < 8; bit++) value = value & 0x80000000 ? (value << 1) ^ 0x04c11db7 : value << 1
  return value >>> 0
})

/** CRC-32 with the polynomial 04c11db7, neither reflected nor inverted. */
function checksum(bytes: Buffer): number {
  let sum = 0
  for (const byte of bytes) sum = ((sum << 8) ^ TABLE[(sum >>> 24) ^ byte]!) >>> 0
  return sum
}
