import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ServiceError } from '../../../protocol/errors.ts'
import { SHARED_FILE, SHARED_FOLDER, SWEPT, TEMPORARY } from '../../../threads/calls/artifact-files.ts'

/** Another user of the machine, who runs the processes of bodies (`FLOW_BODY_USER`). */
export interface BodyUser {
  readonly uid: number
  readonly gid: number
  /** HOME, USER and LOGNAME of the user; empty when only the number of the user is known. */
  readonly environment: Readonly<Record<string, string>>
}

const SHARED = new Set(['bodies', 'artifacts', 'exchange'])
const PROGRAMS = dirname(fileURLToPath(import.meta.url))

/** `text` is a name of /etc/passwd, or `uid:gid`. Throws `bad_setting`. */
export function findBodyUser(text: string): BodyUser {
  const bad = (why: string): never => {
    throw new ServiceError('bad_setting', `FLOW_BODY_USER is ${JSON.stringify(text)}: ${why}.`)
  }
  if (process.getuid?.() !== 0) bad('only an engine that runs as root can run bodies as another user')
  const numbers = /^(\d{1,9}):(\d{1,9})$/.exec(text)
  if (numbers !== null) return checked({ uid: Number(numbers[1]), gid: Number(numbers[2]), environment: {} }, bad)
  for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [name, , uid, gid, , home] = line.split(':')
    if (name !== text || home === undefined) continue
    const environment = { HOME: home, USER: name, LOGNAME: name }
    return checked({ uid: Number(uid), gid: Number(gid), environment }, bad)
  }
  return bad('there is no such user in /etc/passwd; another one can be given as <uid>:<gid>')
}

function checked(user: BodyUser, bad: (why: string) => never): BodyUser {
  if (!(user.uid > 0)) bad('that is root, which is what it is to avoid')
  return user
}

/**
 * Opens the way through the data directory to the bodies and the artifacts, and to nothing else: all other files are readable only for their
 * owner. Throws `bad_setting` when a folder on the way there, or to the programs of the engine, is closed to the user.
 */
export function openTo({ uid, gid }: BodyUser, data_dir: string, bodies: string): void {
  // Files that the engine writes from now on are private unless it sets their mode.
  process.umask(0o077)
  const { mode } = statSync(data_dir)
  // A folder that its owner has opened to others keeps its mode; the check below refuses it if that is not enough.
  if ((mode & 0o077) === 0) {
    closeAll(data_dir)
    chownSync(data_dir, -1, gid)
    chmodSync(data_dir, mode | 0o010)
  }
  shareArtifacts(join(data_dir, 'artifacts'), gid)
  const exchange = exchangeFolder(data_dir)
  mkdirSync(exchange, { recursive: true, mode: 0o700 })
  chownSync(exchange, uid, gid)
  mkdirSync(bodies, { recursive: true })
  chownSync(bodies, -1, gid)
  // Files made in it get the same group.
  chmodSync(bodies, 0o2750)
  for (const start of [data_dir, PROGRAMS])
    for (let folder = start; ; folder = dirname(folder)) {
      if (!passes(folder, uid, gid))
        throw new ServiceError(
          'bad_setting',
          `FLOW_BODY_USER: user ${uid} cannot pass through ${folder}, which leads to ${start}; run "chmod o+x ${folder}", or move it elsewhere.`,
        )
      if (folder === dirname(folder)) break
    }
}

/** Until now the folder above protected these files, whatever their own modes are. */
function closeAll(data_dir: string): void {
  for (const entry of readdirSync(data_dir, { withFileTypes: true })) {
    const path = join(data_dir, entry.name)
    if (entry.isFile() || (entry.isDirectory() && !SHARED.has(entry.name))) chmodSync(path, statSync(path).mode & 0o700)
  }
}

/** Bodies read artifacts directly. Artifacts that were stored before get their group and mode here, once. */
function shareArtifacts(folder: string, gid: number): void {
  mkdirSync(folder, { recursive: true })
  const { mode, gid: group } = statSync(folder)
  const walk = (path: string): void => {
    chownSync(path, -1, gid)
    chmodSync(path, SHARED_FOLDER)
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const inner = join(path, entry.name)
      if (entry.isDirectory()) walk(inner)
      else if (entry.isFile()) {
        chownSync(inner, -1, gid)
        chmodSync(inner, SHARED_FILE)
      }
    }
  }
  for (const name of [TEMPORARY, SWEPT]) mkdirSync(join(folder, name), { recursive: true })
  if (group !== gid || (mode & 0o7777) !== SHARED_FOLDER) walk(folder)
}

/** Artifacts of bodies lie here until the engine has copied them. */
export const exchangeFolder = (data_dir: string): string => join(data_dir, 'exchange')

function passes(folder: string, uid: number, gid: number): boolean {
  const { mode, uid: owner, gid: group } = statSync(folder)
  return (mode & (owner === uid ? 0o100 : group === gid ? 0o010 : 0o001)) !== 0
}
