import { createHash } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Connection, Statement } from '../file/database.ts'

/** How the bytes of a blob are stored in its row. */
const FORM = { plain: 0, deflated: 1, delta: 2 } as const

interface BlobRow {
  form: number
  base: string | null
  /** The longest chain of blobs that are read by way of this one. */
  behind: number
  size: number
  bytes: Buffer
}

export const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')

/** Content-addressed texts (flow documents). Written plain; the compaction pass rewrites old ones without a change for readers. */
export class Blobs {
  readonly #get: Statement<BlobRow>
  readonly #put: Statement
  readonly #rewrite: Statement
  readonly #lead: Statement

  constructor(db: Connection) {
    this.#get = db.prepare('SELECT form, base, behind, size, bytes FROM blobs WHERE digest = ?')
    this.#put = db.prepare(
      `INSERT INTO blobs (digest, form, base, size, bytes) VALUES (?, ${FORM.plain}, NULL, ?, ?) ON CONFLICT (digest) DO NOTHING`,
    )
    this.#lead = db.prepare('UPDATE blobs SET behind = max(behind, ?) WHERE digest = ?')
    this.#rewrite = db.prepare('UPDATE blobs SET form = ?, base = ?, bytes = ? WHERE digest = ?')
  }

  put(text: string): string {
    const bytes = Buffer.from(text)
    const digest = sha256(bytes)
    this.#put.run(digest, bytes.length, bytes)
    return digest
  }

  text(digest: string): string {
    return this.bytes(digest).toString('utf8')
  }

  bytes(digest: string): Buffer {
    const row = this.#get.get(digest)
    if (!row) throw new RangeError(`no blob ${digest}`)
    if (row.form === FORM.plain) return row.bytes
    if (row.form === FORM.deflated) return inflateRawSync(row.bytes)
    return applyDelta(this.bytes(row.base!), row.bytes)
  }

  /** The digests that must be read before this one can be; 0 for a blob without a base. */
  chain(digest: string): number {
    let length = 0
    for (let row = this.#get.get(digest); row?.form === FORM.delta; row = this.#get.get(row.base!)) length++
    return length
  }

  has(digest: string): boolean {
    return this.#get.get(digest) !== undefined
  }

  isPlain(digest: string): boolean {
    return this.#get.get(digest)?.form === FORM.plain
  }

  /** The longest chain of blobs that are read by way of this one. */
  behind(digest: string): number {
    return this.#get.get(digest)?.behind ?? 0
  }

  /** Rewrites a plain blob as its difference to `base` (null: on its own) when that is smaller. Returns the bytes saved. */
  compact(digest: string, base: string | null): number {
    const bytes = this.bytes(digest)
    const packed = base === null ? deflateRawSync(bytes) : makeDelta(this.bytes(base), bytes)
    if (packed.length >= bytes.length) return 0
    this.#rewrite.run(base === null ? FORM.deflated : FORM.delta, base, packed, digest)
    if (base !== null) this.#lead.run(this.behind(digest) + 1, base)
    return bytes.length - packed.length
  }
}

/** The common beginning and end by their lengths, then the rest deflated: `u32 prefix, u32 suffix, deflated middle`. */
export function makeDelta(base: Buffer, bytes: Buffer): Buffer {
  const most = Math.min(base.length, bytes.length)
  let prefix = 0
  while (prefix < most && base[prefix] === bytes[prefix]) prefix++
  let suffix = 0
  while (suffix < most - prefix && base[base.length - 1 - suffix] === bytes[bytes.length - 1 - suffix]) suffix++
  const head = Buffer.alloc(8)
  head.writeUInt32LE(prefix, 0)
  head.writeUInt32LE(suffix, 4)
  return Buffer.concat([head, deflateRawSync(bytes.subarray(prefix, bytes.length - suffix))])
}

export function applyDelta(base: Buffer, delta: Buffer): Buffer {
  const prefix = delta.readUInt32LE(0)
  const suffix = delta.readUInt32LE(4)
  return Buffer.concat([
    base.subarray(0, prefix),
    inflateRawSync(delta.subarray(8)),
    base.subarray(base.length - suffix),
  ])
}
