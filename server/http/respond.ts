import { PROBLEM_TYPE, type Refusal, statusLine } from './problem.ts'
import type { Answer, StreamContent } from './route.ts'

/** What writing an answer needs of the socket library's response. */
export interface Responder {
  writeStatus(line: string): unknown
  writeHeader(name: string, value: string): unknown
  end(body?: string | Uint8Array, close?: boolean): unknown
  endWithoutBody(length?: number, close?: boolean): unknown
}

/** For a page with a form: no script at all; the answer to its form may lead to one other origin. */
const formPolicy = (leads_to: string): string =>
  `default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self' ${leads_to}; frame-ancestors 'none'`

/** Pages load only from this engine, run no inline script, and cannot be framed. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
/** The web app: frames and artifacts are shown from memory, its scripts start workers, and no text ever becomes a script. */
const APP_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; font-src 'self'; " +
  "connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types svc"
/** Answers that are not pages get no rights of a page, even when a browser opens them. */
const DATA_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"

const policyOf = (page: boolean | 'app' | undefined): string =>
  page === 'app' ? APP_POLICY : page ? PAGE_POLICY : DATA_POLICY

const headersWith = (referrer: string): string[] => [
  'x-content-type-options: nosniff',
  `referrer-policy: ${referrer}`,
  'cross-origin-resource-policy: same-origin',
]
const COMMON = headersWith('no-referrer')
/** A form of a page without a referrer would be sent with the origin `null`, which is refused as another one. */
const OF_FORMS = headersWith('same-origin')
const JSON_TYPE = 'application/json'

/**
 * The headers that every answer of one media type carries, as one value: the library writes values raw, so a constant that
 * holds its own line ends costs one call instead of five. It contains nothing that a user sends, except the origin to which a
 * form may lead.
 */
const block = (type: string, policy: string, cache: string, common = COMMON): string =>
  [type, `cache-control: ${cache}`, `content-security-policy: ${policy}`, ...common].join('\r\n')

const JSON_BLOCK = block(JSON_TYPE, DATA_POLICY, 'no-store')
const PROBLEM_BLOCK = block(PROBLEM_TYPE, DATA_POLICY, 'no-store')
const EMPTY_BLOCK = ['no-store', ...COMMON].join('\r\n')

/**
 * Longer than the library's cork buffer, so that an answer with it goes out, and its connection is closed, before the parser
 * looks at what follows in the same packet. Without it a request pipelined behind a refused one is executed all the same.
 * White space after a JSON document has no meaning.
 */
const FLUSH = ' '.repeat(16 * 1024)

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not get into a header
const UNSAFE = /[\u0000-\u001f\u007f]/g
const clean = (value: string): string => value.replace(UNSAFE, ' ')

function writeHead(to: Responder, status: number, headers: Readonly<Record<string, string>> | undefined): void {
  if (status !== 200) to.writeStatus(statusLine(status))
  if (headers) for (const name in headers) if (name !== 'cache-control') to.writeHeader(name, clean(headers[name]!))
}

/** The bytes of an answer, or null when it has none. Throws for what cannot be JSON: before anything is written. */
export const bytesOf = (answer: Answer): string | Uint8Array | null =>
  answer.content ? answer.content.bytes : answer.body === undefined ? null : JSON.stringify(answer.body)

/** The head of a streamed answer, less its length. */
export function writeStreamHead(to: Responder, { status, headers }: Answer, stream: StreamContent): void {
  writeHead(to, status, headers)
  const cache = clean(headers?.['cache-control'] ?? 'no-store')
  to.writeHeader('content-type', block(clean(stream.type), DATA_POLICY, cache))
}

/**
 * Writes an answer whose bytes are `bytesOf(answer)`; `headOnly` leaves them out and keeps their length. With `last` the connection
 * is closed behind it, as soon as nothing of the library's is under way that parses what follows in the same packet.
 */
export function writeAnswer(
  to: Responder,
  answer: Answer,
  bytes: string | Uint8Array | null,
  headOnly: boolean,
  last: boolean,
): void {
  const { status, content, headers } = answer
  writeHead(to, status, headers)
  if (bytes === null) {
    to.writeHeader('cache-control', EMPTY_BLOCK)
    // Without a length the library writes a wrong one and does not close.
    if (last) to.endWithoutBody(0, true)
    else if (status === 204 || status === 304) to.endWithoutBody()
    else to.end('')
    return
  }
  if (content) {
    const cache = clean(headers?.['cache-control'] ?? 'no-store')
    const { leads_to } = content
    if (leads_to !== undefined)
      to.writeHeader('content-type', block(clean(content.type), formPolicy(clean(leads_to)), cache, OF_FORMS))
    else to.writeHeader('content-type', block(clean(content.type), policyOf(content.page), cache))
  } else to.writeHeader('content-type', JSON_BLOCK)
  finish(to, bytes, headOnly, last)
}

/** Writes a problem. With `cut` the connection is closed, and the parser kept from whatever follows in the same packet. */
export function writeRefusal(to: Responder, refusal: Refusal, headOnly: boolean, cut: boolean): void {
  writeHead(to, refusal.status, refusal.headers)
  to.writeHeader('content-type', PROBLEM_BLOCK)
  const text = JSON.stringify(refusal.problem)
  if (cut) to.end(text + FLUSH, true)
  else finish(to, text, headOnly, false)
}

function finish(to: Responder, bytes: string | Uint8Array, headOnly: boolean, last: boolean): void {
  if (!headOnly) {
    to.end(bytes, last)
    return
  }
  const length = typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.length
  to.writeHeader('content-length', String(length))
  to.endWithoutBody()
}
