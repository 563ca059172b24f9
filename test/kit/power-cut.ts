/** The files of a store as a kill or a power cut may leave them. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FILES = ['engine.db', 'engine.db-wal', 'redo.log'] as const
/** What a disk writes whole. */
const SECTOR_BYTES = 512

export type DiskImage = ReadonlyMap<string, Buffer>

export const imageOf = (data_dir: string): DiskImage =>
  new Map(
    FILES.filter(name => existsSync(join(data_dir, name))).map(name => [name, readFileSync(join(data_dir, name))]),
  )

export function writeImage(image: DiskImage, data_dir: string): void {
  for (const [name, bytes] of image) writeFileSync(join(data_dir, name), bytes)
}

/**
 * Between two images, of which the first is synced and the step to the second was not yet: each sector that the step changed is there
 * or not, in whatever order the disk likes. A step that changes the database itself (a checkpoint) changes nothing else.
 */
export function cutBetween(before: DiskImage, after: DiskImage, random: () => number): DiskImage {
  const share = random()
  const cut = new Map<string, Buffer>()
  for (const [name, bytes] of after) {
    const old = before.get(name) ?? Buffer.alloc(0)
    const length = Math.max(
      old.length,
      Math.floor((random() * (bytes.length + SECTOR_BYTES)) / SECTOR_BYTES) * SECTOR_BYTES,
    )
    const left = Buffer.alloc(Math.min(length, Math.max(old.length, bytes.length)))
    old.copy(left)
    for (let at = 0; at < left.length; at += SECTOR_BYTES)
      if (random() < share) bytes.copy(left, at, at, Math.min(at + SECTOR_BYTES, left.length, bytes.length))
    cut.set(name, left)
  }
  return cut
}
