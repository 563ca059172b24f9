import { dirname, isAbsolute, join, resolve } from 'node:path'

/**
 * Where an installation is and what its files are called, for the engine that owns it and for the clients that look for it.
 * Nothing here touches a disk: the caller says what is a directory.
 */
export const INSTALLATION_NAME = '.svc'
export const ENGINE_FILE = 'engine.json'
export const TOKEN_FILE = 'token'
export const DATABASE_FILE = 'engine.db'
/** SQLite's own log, beside the database from its first commit to its clean end. */
export const WAL_FILE = 'engine.db-wal'
export const REDO_FILE = 'redo.log'
/** Rows of the database that could not be read, a JSON document a line. */
export const QUARANTINE_FILE = 'quarantine.jsonl'
/** The index of the search, made again when it is gone. */
export const SEARCH_FILE = 'search.db'
export const KEY_FILE = 'key.pem'
export const LOCK_FILE = 'lock.db'

/** `engine.json`: who serves the installation. `url` is null while the engine starts. */
export interface EngineFile {
  url: string | null
  pid: number
  /** RFC 3339. */
  started_at: string
  version: string
}

export interface Place {
  data_dir: string
  /** `found`: an existing `.svc`, met upward from the working directory; `beside`: none was met, this is where one would be made. */
  by: 'named' | 'global' | 'found' | 'beside'
}

export interface PlaceQuestion {
  /** `--data-dir`, else DATA_DIR; null when neither is given. */
  data_dir: string | null
  global: boolean
  cwd: string
  home: string
  /** XDG_DATA_HOME; ignored unless absolute, as its specification says. */
  xdg_data_home: string | undefined
  isDirectory(path: string): boolean
}

/** `--global`, then a named directory, then the nearest `.svc` upward from `cwd`, then `<cwd>/.svc`. */
export function installationPlace(question: PlaceQuestion): Place {
  const { cwd } = question
  if (question.global) {
    const base = question.xdg_data_home
    const share = base !== undefined && isAbsolute(base) ? base : join(question.home, '.local', 'share')
    return { data_dir: join(share, 'svc'), by: 'global' }
  }
  if (question.data_dir !== null) return { data_dir: resolve(cwd, question.data_dir), by: 'named' }
  for (let at = resolve(cwd); ; at = dirname(at)) {
    const candidate = join(at, INSTALLATION_NAME)
    if (question.isDirectory(candidate)) return { data_dir: candidate, by: 'found' }
    if (dirname(at) === at) return { data_dir: join(resolve(cwd), INSTALLATION_NAME), by: 'beside' }
  }
}
