import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FRAME = /((?:file:\/\/)?\/[^()]*?):(\d+):(\d+)\)?$/
const BODY = /\/bodies\/[0-9a-f]{64}\.mjs$/
const ENGINE = join(import.meta.dirname, '../..')
const ENGINE_ROOMS = ['protocol', 'core', 'threads', 'server', 'clients', 'node_modules'].map(room =>
  join(ENGINE, room, '/'),
)
const FILE_BYTES = 4 * 1024 * 1024
const LINE_CHARACTERS = 160
const KEPT = 64

/** By stack frame. The files are read once: a thread that loads bodies again is another thread. */
const kept = new Map<string, string | null>()

/**
 * Where in the code of a user something was thrown: ` At line 3, column 9 of the body: throw new RangeError("too hot").`
 * Lines and columns are those of the source as it was written, since stripping types keeps positions. Empty when the stack
 * names no file of a user.
 */
export function failedLine(stack: string): string {
  for (const frame of stack.split('\n')) {
    if (!frame.startsWith('    at ')) continue
    let found = kept.get(frame)
    if (found === undefined) {
      found = lineOf(frame)
      if (kept.size >= KEPT) kept.delete(kept.keys().next().value!)
      kept.set(frame, found)
    }
    if (found !== null) return found
  }
  return ''
}

function lineOf(frame: string): string | null {
  const match = FRAME.exec(frame)
  if (match === null) return null
  const [, where, line, column] = match as unknown as [string, string, string, string]
  try {
    const path = where.startsWith('file:') ? fileURLToPath(where) : where
    const isBody = BODY.test(path)
    if (!isBody && (path.includes('/node_modules/') || ENGINE_ROOMS.some(room => path.startsWith(room)))) return null
    const place = isBody ? `line ${line}, column ${column} of the body` : `${path}:${line}:${column}`
    const text = textAt(path, Number(line))
    return text === '' ? ` At ${place}.` : ` At ${place}: ${text}`
  } catch {
    return null
  }
}

/** A stack may name anything: only a file of moderate size is read. */
function textAt(path: string, line: number): string {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined || !stat.isFile() || stat.size > FILE_BYTES) return ''
  const text = readFileSync(path, 'utf8').split('\n')[line - 1]?.trim() ?? ''
  return text.length > LINE_CHARACTERS ? `${text.slice(0, LINE_CHARACTERS)}…` : text
}
