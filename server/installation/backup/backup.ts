import { createHash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { diskFault, errorName } from '../../../protocol/disk-faults.ts'
import { ServiceError } from '../../../protocol/errors.ts'
import { DATABASE_FILE, QUARANTINE_FILE } from '../../../protocol/installation.ts'
import { VERSION } from '../../../protocol/version.ts'
import { readTar, TarWriter } from './tar.ts'

const MANIFEST = 'manifest.json'
const ARTIFACTS = 'artifacts'
const HEX_FOLDER = /^[0-9a-f]{2}$/
const ARTIFACT = /^artifacts\/([0-9a-f]{2})\/([0-9a-f]{2})\/(\1\2[0-9a-f]{60})$/
const ALL_PAGES = 0x7fffffff

export interface BackedUp {
  readonly file: string
  readonly version: string
  /** RFC 3339. */
  readonly taken_at: string
  readonly database_bytes: number
  readonly artifacts: number
  readonly artifact_bytes: number
}

/** The last entry: what an archive that is whole holds. */
interface Manifest extends Omit<BackedUp, 'file'> {
  /** SHA-256 of each file that is not named by its own digest. */
  readonly digests: Readonly<Record<string, string>>
}

/**
 * The database as of one commit, then the artifacts, in one file that has its name when it was read back and found whole. The engine
 * may run: SQLite copies under a read lock, which holds up no writer, and artifacts never change. Artifacts come last, so that
 * whatever the copy of the database names is there, unless a sweep takes it in that very moment.
 *
 * The signing key stays out: with it whoever has the file could sign in as anybody.
 */
export async function backup(data_dir: string, file: string): Promise<BackedUp> {
  const database = join(data_dir, DATABASE_FILE)
  if (!existsSync(database)) throw new ServiceError('database_missing', `${data_dir} has no ${DATABASE_FILE}.`)
  const part = `${file}.part`
  const copy = `${file}.db-part`
  const taken_at = new Date().toISOString()
  try {
    const fd = openSync(part, 'wx', 0o600)
    try {
      await copyDatabase(database, copy)
      const tar = new TarWriter(fd)
      const digests: Record<string, string> = { [DATABASE_FILE]: add(tar, DATABASE_FILE, copy).digest }
      const quarantine = join(data_dir, QUARANTINE_FILE)
      if (existsSync(quarantine)) digests[QUARANTINE_FILE] = add(tar, QUARANTINE_FILE, quarantine).digest
      const { artifacts, artifact_bytes } = addArtifacts(tar, data_dir)
      const database_bytes = statSync(copy).size
      const manifest: Manifest = { version: VERSION, taken_at, database_bytes, artifacts, artifact_bytes, digests }
      const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
      tar.begin({ name: MANIFEST, size: text.length })
      tar.write(text)
      tar.end(text.length)
      tar.close()
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    const found = readBackup(part)
    renameSync(part, file)
    syncFolder(dirname(file))
    return { ...found, file }
  } catch (error) {
    if (errorName(error) === 'EEXIST')
      throw new ServiceError(
        'bad_installation',
        `${part} exists: another backup is being written, or was interrupted. If none is running, remove the file.`,
      )
    rmSync(part, { force: true })
    throw refused('backup_failed', error)
  } finally {
    rmSync(copy, { force: true })
  }
}

/** Reads all of an archive. Throws `bad_backup` when anything in it is not what it was written as. */
export function readBackup(
  file: string,
  take: (name: string) => { piece(bytes: Uint8Array): void; end(): void } | null = () => null,
): Omit<BackedUp, 'file'> {
  const digests = new Map<string, string>()
  let artifacts = 0
  let artifact_bytes = 0
  let text: string | null = null
  let isTaking = false
  const taking = <Result>(work: () => Result): Result => {
    isTaking = true
    const result = work()
    isTaking = false
    return result
  }
  try {
    readTar(file, ({ name, size }) => {
      const artifact = ARTIFACT.exec(name)
      if (artifact === null && ![DATABASE_FILE, QUARANTINE_FILE, MANIFEST].includes(name))
        throw new Error(`it holds ${JSON.stringify(name)}, which no backup does`)
      const hash = createHash('sha256')
      const manifest: Uint8Array[] = []
      const taken = name === MANIFEST ? null : taking(() => take(name))
      return {
        piece: bytes => {
          hash.update(bytes)
          taking(() => taken?.piece(bytes))
          if (name === MANIFEST) manifest.push(Uint8Array.from(bytes))
        },
        end: () => {
          taking(() => taken?.end())
          const digest = hash.digest('hex')
          if (name === MANIFEST) text = Buffer.concat(manifest).toString()
          else if (artifact === null) digests.set(name, digest)
          else {
            if (artifact[3] !== digest) throw new Error(`${name} is damaged`)
            artifacts++
            artifact_bytes += size
          }
        },
      }
    })
    if (text === null) throw new Error(`it has no ${MANIFEST}`)
    const { digests: told, ...rest } = JSON.parse(text) as Manifest
    for (const [name, digest] of Object.entries(told))
      if (digests.get(name) !== digest) throw new Error(`${name} is damaged or missing`)
    if (artifacts !== rest.artifacts) throw new Error(`${rest.artifacts - artifacts} artifacts are missing`)
    return { ...rest, artifact_bytes }
  } catch (error) {
    // What the taker failed with is no fault of the archive.
    if (error instanceof ServiceError || isTaking) throw error
    if (isSystem(error)) throw refused('backup_unreadable', error)
    throw new ServiceError('bad_backup', `${file} cannot be used: ${(error as Error).message}.`)
  }
}

const isSystem = (error: unknown): boolean => error instanceof Error && 'syscall' in error

/** What the system or SQLite refused, with the path that it names; anything else stays what it is. */
export function refused(code: 'backup_failed' | 'backup_unreadable' | 'restore_failed', error: unknown): unknown {
  const name = errorName(error)
  const fault = diskFault(name)
  if (error instanceof ServiceError || (!isSystem(error) && fault === null)) return error
  const why = {
    disk_full: 'the disk is full',
    disk_read_only: 'it may not be written',
    disk_failed: '',
    database_lost: '',
  }
  const said = fault === null ? '' : why[fault.code]
  return new ServiceError(
    code,
    `${said === '' ? '' : `${said}: `}${(error as Error).message}.`.replace(/^./, first => first.toUpperCase()),
  )
}

/** All pages in one step: with more than one, each commit of the engine would restart it. */
async function copyDatabase(database: string, copy: string): Promise<void> {
  rmSync(copy, { force: true })
  const from = new Database(database, { readonly: true, fileMustExist: true })
  try {
    await from.backup(copy, { progress: () => ALL_PAGES })
  } finally {
    from.close()
  }
  // One file: the copy has no log beside it.
  const copied = new Database(copy)
  copied.pragma('journal_mode = DELETE')
  copied.close()
  const damage = checked(copy)
  if (damage !== null) throw new ServiceError('database_damaged', `${database}: ${damage}.`)
}

/** What is wrong with a database, or null. */
export function checked(path: string): string | null {
  const db = new Database(path, { readonly: true })
  try {
    const answer = db.pragma('quick_check(1)', { simple: true }) as string
    return answer === 'ok' ? null : answer
  } catch (error) {
    return (error as Error).message
  } finally {
    db.close()
  }
}

function addArtifacts(tar: TarWriter, data_dir: string): { artifacts: number; artifact_bytes: number } {
  let artifacts = 0
  let artifact_bytes = 0
  for (const entry of artifactEntries(data_dir)) {
    let size: number
    try {
      size = add(tar, entry, join(data_dir, entry)).size
    } catch (error) {
      // Swept since the folder was read: nothing needed it.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue
      throw error
    }
    artifacts++
    artifact_bytes += size
  }
  return { artifacts, artifact_bytes }
}

/** `artifacts/ab/cd/abcd…`, as they lie in the folder and in the archive. */
function* artifactEntries(data_dir: string): Iterable<string> {
  const inside = (path: string) => (HEX_FOLDER.test(path.slice(-2)) ? readdirSync(join(data_dir, path)) : [])
  const top = existsSync(join(data_dir, ARTIFACTS)) ? readdirSync(join(data_dir, ARTIFACTS)) : []
  for (const first of top.map(name => `${ARTIFACTS}/${name}`).filter(path => HEX_FOLDER.test(path.slice(10))))
    for (const second of inside(first).map(name => `${first}/${name}`))
      for (const entry of inside(second).map(name => `${second}/${name}`)) if (ARTIFACT.test(entry)) yield entry
}

function add(tar: TarWriter, name: string, path: string): { digest: string; size: number } {
  const fd = openSync(path, 'r')
  try {
    const { size } = statSync(path)
    const hash = createHash('sha256')
    const buffer = Buffer.alloc(1 << 20)
    tar.begin({ name, size })
    for (let left = size; left > 0; ) {
      const count = readSync(fd, buffer, 0, Math.min(buffer.length, left), null)
      if (count === 0) throw new Error(`${path} became shorter`)
      const bytes = buffer.subarray(0, count)
      hash.update(bytes)
      tar.write(bytes)
      left -= count
    }
    tar.end(size)
    return { digest: hash.digest('hex'), size }
  } finally {
    closeSync(fd)
  }
}

export function syncFolder(path: string): void {
  const fd = openSync(path, 'r')
  fsyncSync(fd)
  closeSync(fd)
}
