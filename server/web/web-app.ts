import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where `clients/web/build.ts` puts the built app. */
export const WEB_APP_FOLDER = fileURLToPath(new URL('../../clients/web/dist', import.meta.url))

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webmanifest': 'application/manifest+json',
}
/** The encodings in which the build leaves each file, the smallest first. */
const ENCODINGS = { br: '.br', gzip: '.gz' } as const
type Encoding = keyof typeof ENCODINGS

export interface WebFile {
  readonly type: string
  readonly bytes: Uint8Array
  /** Null: as it is. */
  readonly encoding: Encoding | null
  /** Its name has a digest of its content: it never changes. */
  readonly is_immutable: boolean
}

/**
 * The built files of the web app. Which there are is read once, when it is made; only those are ever opened, so that no path that a request
 * names reaches the file system. Files are read when they are first asked for, and stay in memory.
 */
export class WebApp {
  readonly #folder: string
  /** By path below the folder, with `/`. */
  readonly #paths: ReadonlySet<string>
  readonly #read = new Map<string, Promise<Buffer>>()

  constructor(folder: string = WEB_APP_FOLDER) {
    this.#folder = folder
    this.#paths = new Set(filesIn(folder))
  }

  get isBuilt(): boolean {
    return this.#paths.has('index.html')
  }

  has(path: string): boolean {
    return this.#paths.has(path) && extname(path) in TYPES
  }

  /** `path` is one that `has`. `accepted` is the header field Accept-Encoding. */
  async file(path: string, accepted: string): Promise<WebFile> {
    const encoding = this.#encodingOf(path, accepted)
    const bytes = await this.#bytes(encoding === null ? path : path + ENCODINGS[encoding])
    return { type: TYPES[extname(path)]!, bytes, encoding, is_immutable: path.startsWith('assets/') }
  }

  #encodingOf(path: string, accepted: string): Encoding | null {
    const offered = accepted.split(',').flatMap(part => {
      const [name = '', weight = ''] = part.split(';').map(text => text.trim().toLowerCase())
      return /^q=0(\.0*)?$/.test(weight) ? [] : [name]
    })
    for (const encoding of Object.keys(ENCODINGS) as Encoding[]) {
      if (offered.includes(encoding) && this.#paths.has(path + ENCODINGS[encoding])) return encoding
    }
    return null
  }

  #bytes(path: string): Promise<Buffer> {
    let bytes = this.#read.get(path)
    if (bytes === undefined) {
      bytes = readFile(join(this.#folder, path))
      this.#read.set(path, bytes)
      bytes.catch(() => this.#read.delete(path))
    }
    return bytes
  }
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
  } catch {
    // It was not built: the engine works without it.
    return []
  }
}
