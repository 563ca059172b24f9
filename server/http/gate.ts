import type { ErrorCode } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { type AllowedHosts, isSameHost } from './hosts.ts'

/**
 * The header gate: what stands between the parser and everything else. The parser sees only the first of duplicate headers,
 * calls the handler before it has looked at Content-Length, and takes any Transfer-Encoding for `chunked`; where two readers
 * of one connection can disagree about where a request ends, a request can be smuggled. So each header is looked at here, and
 * what is ambiguous is refused with a closed connection.
 *
 * What the parser does see to: control characters in names and values, folded lines and a missing Host never get here. The
 * values that are used (host, authorization, cookie, lengths, origin) each have a grammar of their own.
 *
 * A request for a host that is not this engine's (DNS rebinding) and one that a page of another origin sends are refused here, too,
 * whatever the method: browsers say which host they mean and which page asks, and anything else sends no Origin.
 *
 * One gate serves all requests of a front, one after another: its fields hold the headers of the request that was inspected
 * last. Copy what is needed longer.
 */
export interface HeaderSource {
  forEach(visit: (name: string, value: string) => void): void
}

export interface GateRefusal {
  readonly code: ErrorCode
  readonly detail: string
}

const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253})|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/
const DIGITS = /^\d{1,15}$/
/** A path and query: visible ASCII without `#`. */
const TARGET = /^\/[!"$-~]*$/
const METHODS_WITH_BODY = new Set(['POST', 'PUT', 'PATCH'])

const malformed = (detail: string): GateRefusal => ({ code: 'malformed_request', detail })

export class Gate {
  authorization = ''
  content_type = ''
  forwarded_for = ''
  forwarded_proto = ''
  cookie = ''
  svc_request = ''
  host = ''
  origin = ''
  upgrade = ''
  socket_key = ''
  socket_version = ''
  socket_protocols = ''
  socket_extensions = ''
  #has_range = false
  #is_encoded = false
  /** Bytes; -1 when the request names none. */
  content_length = -1
  chunked = false
  /** Whether the request has a body, according to its headers. */
  has_body = false

  #count = 0
  #bytes = 0
  /** One bit for each header that may occur only once. */
  #seen = 0
  #refusal: GateRefusal | null = null
  readonly #hosts: AllowedHosts
  /** The last host that was found valid and allowed; nearly all requests name the same one. */
  #good_host = ''
  /** Made once, so that a request costs no closure. */
  readonly #visit = (name: string, value: string): void => this.#header(name, value)

  constructor(hosts: AllowedHosts) {
    this.#hosts = hosts
  }

  /** Reads the headers of one request. Null when the request may go on. */
  inspect(method: string, path: string, query: string, headers: HeaderSource): GateRefusal | null {
    this.authorization = this.content_type = this.forwarded_for = this.host = this.origin = this.upgrade = ''
    this.socket_key = this.socket_version = this.socket_protocols = this.socket_extensions = ''
    this.forwarded_proto = this.cookie = this.svc_request = ''
    this.#has_range = this.#is_encoded = false
    this.content_length = -1
    this.chunked = this.has_body = false
    this.#count = this.#bytes = this.#seen = 0
    this.#refusal = null
    headers.forEach(this.#visit)
    return this.#refusal ?? this.#verdict(method, path, query)
  }

  #verdict(method: string, path: string, query: string): GateRefusal | null {
    if (this.#count > limits.HEADER_COUNT)
      return tooMany(`${this.#count} header fields; ${limits.HEADER_COUNT} are allowed.`)
    if (this.#bytes > limits.HEADER_BYTES) return tooMany(`The header fields pass ${limits.HEADER_BYTES} bytes.`)
    if (this.cookie.length > limits.COOKIE_BYTES)
      return tooMany(`The cookies pass ${limits.COOKIE_BYTES} bytes; delete those of this host in the browser.`)
    if (path.length + query.length > limits.URL_BYTES)
      return { code: 'url_too_long', detail: `The address passes ${limits.URL_BYTES} bytes.` }
    if (!TARGET.test(path) || (query !== '' && !TARGET.test(`/${query}`)))
      return malformed('The address holds characters that must be percent-encoded.')
    if (this.host === '') return malformed('The Host header is missing or empty.')
    if (this.host !== this.#good_host) {
      if (!HOST.test(this.host)) return malformed('The Host header is not a host and port.')
      if (!this.#hosts.allows(this.host))
        return { code: 'host_refused', detail: `${JSON.stringify(this.host)} is not a name of this engine.` }
      this.#good_host = this.host
    }
    if (this.origin !== '' && !isSameHost(this.origin, this.host))
      return { code: 'origin_refused', detail: 'A page of another origin may not use this engine.' }
    if (this.chunked && this.content_length >= 0)
      return malformed('Content-Length and Transfer-Encoding exclude each other.')
    this.has_body = this.chunked || this.content_length > 0
    if (this.has_body && !METHODS_WITH_BODY.has(method)) return malformed(`A ${method} request carries no body here.`)
    if (this.#is_encoded)
      return { code: 'unsupported_media_type', detail: 'A body with a Content-Encoding is not taken.' }
    if (this.#has_range) return malformed('A Content-Range is not taken; send the whole body.')
    return null
  }

  #header(name: string, value: string): void {
    this.#count++
    this.#bytes += name.length + value.length + 4
    if (name === '') this.#refusal ??= malformed('A header field has no name.')
    switch (name) {
      case 'host':
        return void (this.host = this.#once(name, 1, value))
      case 'authorization':
        return void (this.authorization = this.#once(name, 2, value))
      case 'content-type':
        return void (this.content_type = this.#once(name, 4, value))
      case 'origin':
        return void (this.origin = this.#once(name, 8, value))
      case 'content-length':
        return this.#contentLength(value)
      case 'transfer-encoding':
        if (this.chunked || value.toLowerCase() !== 'chunked')
          this.#refusal ??= malformed('Transfer-Encoding must be exactly "chunked", once.')
        this.chunked = true
        return
      case 'content-encoding':
        this.#is_encoded ||= value.toLowerCase() !== 'identity'
        return
      case 'content-range':
        this.#has_range = true
        return
      case 'x-forwarded-for':
        return void (this.forwarded_for = this.forwarded_for === '' ? value : `${this.forwarded_for},${value}`)
      case 'x-forwarded-proto':
        this.forwarded_proto ||= value
        return
      case 'cookie':
        return void (this.cookie = this.#once(name, 128, value))
      case 'x-svc-request':
        this.svc_request = value
        return
      case 'upgrade':
        return void (this.upgrade = this.#once(name, 16, value))
      case 'sec-websocket-key':
        return void (this.socket_key = this.#once(name, 32, value))
      case 'sec-websocket-version':
        return void (this.socket_version = this.#once(name, 64, value))
      case 'sec-websocket-protocol':
        return void (this.socket_protocols = this.socket_protocols === '' ? value : `${this.socket_protocols},${value}`)
      case 'sec-websocket-extensions':
        return void (this.socket_extensions = value)
    }
  }

  #contentLength(value: string): void {
    if (this.content_length >= 0) this.#refusal ??= malformed('Content-Length stands there twice.')
    if (!DIGITS.test(value)) {
      this.#refusal ??= malformed('Content-Length is not a plain number.')
      return
    }
    this.content_length = Number(value)
  }

  #once(name: string, bit: number, value: string): string {
    if ((this.#seen & bit) !== 0) this.#refusal ??= malformed(`The header ${name} stands there twice.`)
    this.#seen |= bit
    return value
  }
}

const tooMany = (detail: string): GateRefusal => ({ code: 'headers_too_large', detail })
