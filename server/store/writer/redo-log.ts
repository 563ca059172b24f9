import { closeSync, fdatasyncSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { ServiceError } from '../../../protocol/errors.ts'
import { REDO_FILE } from '../../../protocol/installation.ts'

export const redoFile = (data_dir: string): string => join(data_dir, REDO_FILE)

/** Length of a record's payload, CRC-32 of what follows it, format, epoch of the engine start, sequence number: 32 bits each, little-endian. */
const HEADER_BYTES = 20
const CHECKED_FROM = 8
/** Version of the format of requests (`RunWrite`). */
const FORMAT = 3
/** Ends a mark after which nothing was written, so that the file may be gone. */
const ENDED = ':ended'
const FORMAT_BYTES = Buffer.from(Uint32Array.of(FORMAT).buffer)

/** A record of the log: requests that were answered together, as their JSON texts. */
export interface RedoRecord {
  readonly seq: number
  readonly requests: readonly unknown[]
}

/**
 * Requests that are answered before the transaction that they are part of is committed: a synced record here costs a sixth of a
 * commit of the few dozen pages that they change. A file of fixed length, which is written from its start again after each commit:
 *
 *   commit (with the number of the newest record in it) --> records, each synced before its requests are answered --> commit
 *
 * Records after the one that the database names were answered and not committed; a start applies them. The file is made with the first
 * record, in its full length, so that no record changes its length, and removed at a clean end.
 */
export class RedoLog {
  readonly #data_dir: string
  readonly #epoch: number
  readonly #scratch: Buffer
  readonly #log: (text: string) => void
  #file: number | null = null
  #at = 0
  /** Number of the newest record of this start; 0 before the first. */
  #seq = 0
  /** After a failed sync the content on disk is unknown, so no record is written after one. */
  #ended = false

  /** `log`: a line for the log of the service. */
  constructor(data_dir: string, epoch: number, bytes: number, log: (text: string) => void) {
    this.#data_dir = data_dir
    this.#epoch = epoch
    this.#scratch = Buffer.alloc(bytes)
    this.#log = log
  }

  /** The mark for the database: names the newest record, also one whose sync has failed. */
  get mark(): string {
    return `${this.#epoch}:${this.#seq}${this.#ended && this.#seq > 0 ? ENDED : ''}`
  }

  /** Writes a record. True when it is on the disk; false when there is no room before the next commit, or the disk failed. */
  append(requests: readonly string[]): boolean {
    if (this.#ended) return false
    const payload = this.#payload(requests)
    if (payload === 0) return false
    const record = this.#scratch.subarray(0, HEADER_BYTES + payload)
    record.writeUInt32LE(payload, 0)
    record.writeUInt32LE(FORMAT, 8)
    record.writeUInt32LE(this.#epoch, 12)
    record.writeUInt32LE(++this.#seq, 16)
    record.writeUInt32LE(crc32(record.subarray(CHECKED_FROM)), 4)
    try {
      this.#file ??= this.#made()
      writeWhole(this.#file, record, this.#at)
      fdatasyncSync(this.#file)
    } catch (error) {
      this.close()
      this.#log(`redo.log cannot be written, so each write of a run is a commit from now on: ${String(error)}`)
      return false
    }
    this.#at += record.length
    return true
  }

  /** Called when the database has all records. */
  committed(): void {
    this.#at = 0
  }

  /** Removes the file at a clean end, when the database has the mark of a log that has ended. */
  remove(): void {
    this.close()
    rmSync(redoFile(this.#data_dir), { force: true })
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file)
    this.#file = null
    this.#ended = true
  }

  /** Writes the payload behind the header and returns its bytes; 0 when there is no room. */
  #payload(requests: readonly string[]): number {
    const room = this.#scratch.length - this.#at
    let at = HEADER_BYTES
    for (const request of requests) {
      // A comma or bracket before each request, and a bracket at the end.
      const most = at + 2 + request.length * 3
      if (most > room && at + 2 + Buffer.byteLength(request) > room) return 0
      at += this.#scratch.write(at === HEADER_BYTES ? '[' : ',', at)
      at += this.#scratch.write(request, at)
    }
    return at + this.#scratch.write(']', at) - HEADER_BYTES
  }

  /** Makes the file. Its directory entry is synced, too, since a crash could otherwise remove it with all records. */
  #made(): number {
    const file = openSync(redoFile(this.#data_dir), 'w')
    // From here on `close` closes it.
    this.#file = file
    // Write zeros, so that later records need no new disk space.
    writeWhole(file, Buffer.alloc(this.#scratch.length), 0)
    fsyncSync(file)
    const directory = openSync(this.#data_dir, 'r')
    fsyncSync(directory)
    closeSync(directory)
    return file
  }
}

/** Writes all bytes: a disk that becomes full takes a part without an error. */
function writeWhole(file: number, bytes: Buffer, at: number): void {
  const written = writeSync(file, bytes, 0, bytes.length, at)
  if (written < bytes.length) throw new RangeError(`${written} of ${bytes.length} bytes were written`)
}

/** The records of the newest engine start in the file; epoch 0 without any. */
export interface RedoContent {
  /** Whether there is a file. */
  readonly exists: boolean
  readonly epoch: number
  /** By sequence number, with those behind a damaged record and older ones that were not overwritten. */
  readonly records: readonly RedoRecord[]
}

/** Throws `store_failed` when the newest records have another format. */
export function readRedo(data_dir: string): RedoContent {
  const bytes = contentOf(redoFile(data_dir))
  if (bytes === null) return { exists: false, epoch: 0, records: [] }
  const found = new Map<number, Map<number, RedoRecord>>()
  const formats = new Map<number, number>()
  for (let at = 0; at + HEADER_BYTES <= bytes.length; ) {
    const end = endOfRecord(bytes, at)
    if (end === 0) {
      at = nextRecord(bytes, at + 1)
      continue
    }
    const [format, epoch, seq] = [8, 12, 16].map(place => bytes.readUInt32LE(at + place)) as [number, number, number]
    formats.set(epoch, format)
    if (format === FORMAT) {
      const requests = JSON.parse(bytes.toString('utf8', at + HEADER_BYTES, end)) as unknown[]
      const records = found.get(epoch) ?? new Map<number, RedoRecord>()
      if (!records.has(seq)) records.set(seq, { seq, requests })
      found.set(epoch, records)
    }
    at = end
  }
  const epoch = Math.max(0, ...formats.keys())
  if (epoch > 0 && formats.get(epoch) !== FORMAT) {
    throw new ServiceError(
      'store_failed',
      'redo.log was written by another release; start that release once more and stop it, then start this one.',
    )
  }
  return {
    exists: true,
    epoch,
    records: [...(found.get(epoch)?.values() ?? [])].sort((one, other) => one.seq - other.seq),
  }
}

/** The end of the record that begins here; 0 when there is none or it is damaged. */
function endOfRecord(bytes: Buffer, at: number): number {
  const length = bytes.readUInt32LE(at)
  const end = at + HEADER_BYTES + length
  if (length === 0 || end > bytes.length) return 0
  return bytes.readUInt32LE(at + 4) === crc32(bytes.subarray(at + CHECKED_FROM, end)) ? end : 0
}

/** Where the next record may begin, found by its format, the only known number of its header. */
function nextRecord(bytes: Buffer, from: number): number {
  const at = bytes.indexOf(FORMAT_BYTES, from + CHECKED_FROM)
  return at < 0 ? bytes.length : at - CHECKED_FROM
}

function contentOf(file: string): Buffer | null {
  try {
    return readFileSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Records that are not in the database. */
export interface NotCommitted {
  readonly records: readonly RedoRecord[]
  /** Number of missing records that were synced before others that exist, so their requests were answered. */
  readonly missing: number
}

/** `held`: the newest record in the database. */
export function notCommitted(records: readonly RedoRecord[], held: number): NotCommitted {
  const rest = records.filter(record => record.seq > held)
  const newest = rest.at(-1)?.seq ?? held
  return { records: rest, missing: newest - held - rest.length }
}
