import { randomUUID } from 'node:crypto'
import { ServiceError } from '../../protocol/errors.ts'
import { PROBLEM_TYPE, refusalOf } from '../http/problem.ts'
import type { Answer } from '../http/route.ts'
import type { ArtifactBytes, FileRange } from './file-chunks.ts'
import { rangesOf } from './ranges.ts'

export interface ArtifactAsked {
  readonly digest: string
  /** Well-formed; it may come from anybody. */
  readonly media_type: string
  /** Header fields: `range`, `if-range`, `if-none-match`. */
  readonly headers: Readonly<Record<string, string>>
  readonly head_only: boolean
  /** Of the request. */
  readonly path: string
}

/** Shown by a browser without any danger; everything else is saved. SVG is a document that may hold scripts. */
const SHOWN = /^(?:image\/(?!svg)|audio\/|video\/|text\/plain(?:[ \t;]|$))/i
/** The bytes behind a digest never change. */
const CACHE = 'private, max-age=31536000, immutable'

/**
 * The answer to a read, by RFC 9110: If-None-Match goes before Range, If-Range names a digest, ranges are for GET alone. Takes the
 * bytes, which are closed with the answer.
 */
export function artifactAnswer(bytes: ArtifactBytes, asked: ArtifactAsked): Answer {
  const { size } = bytes
  const { digest, media_type, headers, head_only, path } = asked
  const etag = `"${digest}"`
  const common = { etag, 'cache-control': CACHE }
  if (isNamed(headers['if-none-match'], etag)) {
    bytes.close()
    return { status: 304, headers: common }
  }
  const isAsked = !head_only && (headers['if-range'] === undefined || headers['if-range'].trim() === etag)
  const ranges = isAsked ? rangesOf(headers['range'], size) : null
  if (ranges === 'outside') {
    bytes.close()
    return outside(size, path)
  }
  const shown = SHOWN.test(media_type) ? 'inline' : `attachment; filename="${digest.slice('sha256:'.length)}"`
  const served = { ...common, 'accept-ranges': 'bytes', 'content-disposition': shown }
  const answer = (status: number, type: string, parts: (FileRange | Uint8Array)[], more: Record<string, string>) => ({
    status,
    headers: { ...served, ...more },
    stream: { type, length: lengthOf(parts), chunks: bytes.chunks(parts) },
  })
  if (ranges === null) return answer(200, media_type, [{ from: 0, to: size }], {})
  const [first, ...others] = ranges
  if (others.length === 0) return answer(206, media_type, [first!], { 'content-range': rangeText(first!, size) })
  const boundary = randomUUID()
  return answer(206, `multipart/byteranges; boundary=${boundary}`, partsOf(ranges, size, media_type, boundary), {})
}

/** A refusal that tells the length: 416 must. */
function outside(size: number, path: string): Answer {
  const { status, problem } = refusalOf(new ServiceError('bad_range', `The artifact has ${size} bytes.`), path)
  return {
    status,
    headers: { 'content-range': `bytes */${size}` },
    content: { type: PROBLEM_TYPE, bytes: JSON.stringify(problem) },
  }
}

function partsOf(ranges: FileRange[], size: number, media_type: string, boundary: string): (FileRange | Uint8Array)[] {
  const parts: (FileRange | Uint8Array)[] = []
  for (const [at, range] of ranges.entries()) {
    const head = `--${boundary}\r\ncontent-type: ${media_type}\r\ncontent-range: ${rangeText(range, size)}\r\n\r\n`
    parts.push(Buffer.from(at === 0 ? head : `\r\n${head}`), range)
  }
  parts.push(Buffer.from(`\r\n--${boundary}--\r\n`))
  return parts
}

const rangeText = ({ from, to }: FileRange, size: number): string => `bytes ${from}-${to - 1}/${size}`

const lengthOf = (parts: readonly (FileRange | Uint8Array)[]): number =>
  parts.reduce((sum, part) => sum + (part instanceof Uint8Array ? part.length : part.to - part.from), 0)

/** Does an If-None-Match name it? Weakly compared. */
function isNamed(list: string | undefined, etag: string): boolean {
  if (list === undefined) return false
  return list.split(',').some(text => {
    const one = text.trim()
    return one === '*' || one === etag || one === `W/${etag}`
  })
}
