import {
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { limits } from '../../protocol/limits.ts'

export type LogFields = Readonly<Record<string, unknown>>

/** One line each; `event` is a few stable words, what varies stands in `fields`. Never waits and never throws. */
export interface Log {
  info(event: string, fields?: LogFields): void
  warn(event: string, fields?: LogFields): void
  error(event: string, fields?: LogFields): void
}

export interface ServeLogOptions {
  readonly path: string
  readonly now?: () => Date
  /** The file is cut back to its newest half when it passes this. */
  readonly bytes?: number
}

const SECRET_KEY = /passw|secret|token|authorization|cookie|credential|api_?key|private_?key/i
/** None begins in the middle of what another start has looked through, so that a search costs what the text is long. */
const SECRET_TEXT =
  /\bBearer\s+[^\s"']+|\bbearer\.[^\s,"']+|(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]*|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)|\/\/[^\s/:@]*:[^\s/@]+@/g
const HIDDEN = '[hidden]'
/** What JSON leaves as it is and a terminal or an editor obeys: C1 controls, other line ends, marks that turn the direction of text. */
const OBEYED = /[\u007f-\u009f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/**
 * JSON lines in `<data dir>/serve.log`, mode 600. Lines gather until the end of the event-loop turn and go out with one
 * write; `error` goes out at once, since the process may end next. A full disk costs lines, which are counted and named in
 * the first line that is written again.
 */
export class ServeLog implements Log {
  readonly #path: string
  readonly #now: () => Date
  readonly #most: number
  #file: number
  #size: number
  #waiting: string[] = []
  #flushing = false
  #lost = 0
  #isClosed = false
  #also: (bytes: Uint8Array) => void = () => {}

  constructor(options: ServeLogOptions) {
    this.#path = options.path
    this.#now = options.now ?? (() => new Date())
    this.#most = options.bytes ?? limits.SERVE_LOG_BYTES
    this.#file = openSync(this.#path, 'a+', 0o600)
    this.#size = fstatSync(this.#file).size
    if (this.#size > this.#most) this.#cutBack()
  }

  info(event: string, fields?: LogFields): void {
    this.#add('info', event, fields)
  }

  warn(event: string, fields?: LogFields): void {
    this.#add('warn', event, fields)
  }

  error(event: string, fields?: LogFields): void {
    this.#add('error', event, fields)
    this.flush()
  }

  /** Lines from now on go there, too. */
  alsoTo(write: (bytes: Uint8Array) => void): void {
    this.flush()
    this.#also = write
  }

  /** Writes what waits. */
  flush(): void {
    if (this.#waiting.length === 0 || this.#isClosed) return
    const lines = this.#waiting
    this.#waiting = []
    if (this.#lost > 0) lines.unshift(this.#line('warn', 'log_lines_lost', { lines: this.#lost }))
    const bytes = Buffer.from(lines.join(''))
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at)
      this.#lost = 0
    } catch {
      this.#lost += lines.length
    }
    this.#also(bytes)
    this.#size += bytes.length
    if (this.#size > this.#most) this.#cutBack()
  }

  close(): void {
    this.flush()
    if (this.#isClosed) return
    this.#isClosed = true
    closeSync(this.#file)
  }

  #add(level: string, event: string, fields?: LogFields): void {
    if (this.#isClosed) return
    this.#waiting.push(this.#line(level, event, fields))
    if (this.#flushing) return
    this.#flushing = true
    setImmediate(() => {
      this.#flushing = false
      this.flush()
    })
  }

  #line(level: string, event: string, fields: LogFields = {}): string {
    const head = { ts: this.#now().toISOString(), level, event }
    let text: string
    try {
      text = JSON.stringify({ ...head, ...fields }, plain)
    } catch {
      text = JSON.stringify({ ...head, unprintable: true })
    }
    if (text.length > limits.LOG_LINE_BYTES)
      text = JSON.stringify({ ...head, cut: text.slice(0, limits.LOG_LINE_BYTES) })
    return `${text.replace(OBEYED, escaped)}\n`
  }

  /**
   * Keeps the newest half, from the start of a line. The half goes to a second file that then takes the place of the first,
   * so that a kill leaves one or the other; without room for a second file it is moved to the front of the first.
   */
  #cutBack(): void {
    const half = Buffer.alloc(Math.floor(this.#most / 2))
    const size = fstatSync(this.#file).size
    const read = readSync(this.#file, half, 0, half.length, Math.max(0, size - half.length))
    const kept = half.subarray(half.indexOf(10) + 1, read)
    const second = `${this.#path}.cut`
    try {
      // Made again: whatever lies there, a link for one, is not written through.
      rmSync(second, { force: true })
      const file = openSync(second, 'wx', 0o600)
      writeSync(file, kept)
      closeSync(file)
      renameSync(second, this.#path)
      closeSync(this.#file)
      this.#file = openSync(this.#path, 'a+', 0o600)
    } catch {
      try {
        unlinkSync(second)
      } catch {}
      try {
        ftruncateSync(this.#file, 0)
        writeSync(this.#file, kept)
      } catch {}
    }
    this.#size = fstatSync(this.#file).size
  }
}

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** For JSON.stringify: hides what is called a secret or looks like one, and spells out errors and big integers. */
function plain(key: string, value: unknown): unknown {
  if (key !== '' && SECRET_KEY.test(key) && value !== null && typeof value !== 'boolean') return HIDDEN
  // A line takes no more; what is cut off with a secret in the middle is hidden up to there.
  if (typeof value === 'string') return value.slice(0, limits.LOG_LINE_BYTES).replace(SECRET_TEXT, HIDDEN)
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Error) {
    const { name, message, stack } = value
    return { name, message, code: 'code' in value ? value.code : undefined, stack }
  }
  return value
}
