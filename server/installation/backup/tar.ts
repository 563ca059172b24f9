import { closeSync, openSync, readSync, writeSync } from 'node:fs'

/** Files one after the other, as `tar` reads them (POSIX ustar; sizes of 8 GiB and more in base 256, as GNU tar writes them). */

const BLOCK = 512
const NAME_BYTES = 100
const SIZE_AT = 124
const SUM_AT = 148
const OCTAL_MAX = 0o77777777777

export interface TarEntry {
  readonly name: string
  readonly size: number
}

export class TarWriter {
  readonly #fd: number

  constructor(fd: number) {
    this.#fd = fd
  }

  begin({ name, size }: TarEntry): void {
    if (Buffer.byteLength(name) > NAME_BYTES) throw new RangeError(`${name} is too long a name for an archive`)
    const head = Buffer.alloc(BLOCK)
    head.write(name)
    head.write('0000600\0', 100)
    head.write('0000000\0', 108)
    head.write('0000000\0', 116)
    if (size <= OCTAL_MAX) head.write(`${size.toString(8).padStart(11, '0')}\0`, SIZE_AT)
    else {
      head[SIZE_AT] = 0x80
      head.writeBigUInt64BE(BigInt(size), SIZE_AT + 4)
    }
    head.write('00000000000\0', 136)
    head.write('0', 156)
    head.write('ustar\x0000', 257)
    head.write('        ', SUM_AT)
    const sum = head.reduce((total, byte) => total + byte, 0)
    head.write(`${sum.toString(8).padStart(6, '0')}\0 `, SUM_AT)
    writeWhole(this.#fd, head)
  }

  write(bytes: Uint8Array): void {
    writeWhole(this.#fd, bytes)
  }

  /** Of an entry of this size. */
  end(size: number): void {
    const over = size % BLOCK
    if (over > 0) writeWhole(this.#fd, Buffer.alloc(BLOCK - over))
  }

  close(): void {
    writeWhole(this.#fd, Buffer.alloc(2 * BLOCK))
  }
}

/** Every entry in order, with its bytes piece by piece. Throws an Error that says what is wrong with the archive. */
export function readTar(
  path: string,
  entry: (head: TarEntry) => { piece(bytes: Uint8Array): void; end(): void },
): void {
  const fd = openSync(path, 'r')
  try {
    const head = Buffer.alloc(BLOCK)
    const buffer = Buffer.alloc(1 << 20)
    for (;;) {
      if (!readWhole(fd, head)) throw new Error('it ends early')
      if (head.every(byte => byte === 0)) return
      const { name, size } = headOf(head)
      const reader = entry({ name, size })
      for (let left = Math.ceil(size / BLOCK) * BLOCK, bytes = size; left > 0; ) {
        const part = buffer.subarray(0, Math.min(buffer.length, left))
        if (!readWhole(fd, part)) throw new Error(`it ends in the middle of ${name}`)
        if (bytes > 0) reader.piece(part.subarray(0, Math.min(part.length, bytes)))
        left -= part.length
        bytes -= part.length
      }
      reader.end()
    }
  } finally {
    closeSync(fd)
  }
}

function headOf(head: Buffer): TarEntry {
  const text = (from: number, to: number) => head.toString('utf8', from, to).replace(/\0.*$/s, '')
  const told = Number.parseInt(text(SUM_AT, SUM_AT + 8), 8)
  const sum = head.reduce((total, byte, at) => total + (at >= SUM_AT && at < SUM_AT + 8 ? 0x20 : byte), 0)
  if (told !== sum) throw new Error('it is no tar archive, or a head in it is damaged')
  const size =
    head[SIZE_AT] === 0x80 ? Number(head.readBigUInt64BE(SIZE_AT + 4)) : Number.parseInt(text(SIZE_AT, SIZE_AT + 12), 8)
  return { name: text(0, NAME_BYTES), size }
}

function readWhole(fd: number, into: Uint8Array): boolean {
  for (let at = 0; at < into.length; ) {
    const count = readSync(fd, into, at, into.length - at, null)
    if (count === 0) return false
    at += count
  }
  return true
}

function writeWhole(fd: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
}
