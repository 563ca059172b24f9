import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { bearerOf } from '../auth/gatekeeper.ts'
import type { Gate } from './gate.ts'

/** The token that a request carries, not verified yet. */
export interface Credential {
  readonly token: string | null
  /** True when the browser added it as a cookie, whichever page caused the request. */
  readonly by_cookie: boolean
}

const SAFE = new Set(['GET', 'HEAD'])

/**
 * The cookie of a browser's session: it carries an access token that scripts cannot read. Browsers tell engines on one machine apart by the
 * name of the cookie alone, not by the port, so each installation has its own.
 */
export class SessionCookie {
  readonly name: string
  readonly #public_url: URL | null

  /** `installation` tells installations apart; `public_url` is the address at which browsers reach this one. */
  constructor(installation: string, public_url: string | null) {
    this.name = `svc_session_${installation}`
    this.#public_url = public_url === null ? null : new URL(public_url)
  }

  /** The Set-Cookie value; `Secure` when the browser came over https. `is_https`: a trusted proxy says so. */
  set(token: string, host: string, is_https: boolean): string {
    return `${this.#of(token, host, is_https)}; Max-Age=${limits.TOKEN_LIFETIME_S}`
  }

  cleared(host: string, is_https: boolean): string {
    return `${this.#of('', host, is_https)}; Max-Age=0`
  }

  #of(value: string, host: string, is_https: boolean): string {
    const { protocol, host: public_host } = this.#public_url ?? {}
    const is_secure = is_https || (protocol === 'https:' && public_host === host.toLowerCase().replace(/:443$/, ''))
    return `${this.name}=${value}; Path=/; HttpOnly; SameSite=Strict${is_secure ? '; Secure' : ''}`
  }

  /** The token of a Cookie header; null when it has none. Throws `malformed_request` when it has two, since another page may have set one. */
  tokenOf(header: string): string | null {
    let found: string | null = null
    for (const pair of header.split(';')) {
      const equals = pair.indexOf('=')
      if (equals < 0 || pair.slice(0, equals).trim() !== this.name) continue
      if (found !== null) throw new ServiceError('malformed_request', 'The session cookie is given twice.')
      found = pair.slice(equals + 1).trim()
    }
    return found === '' ? null : found
  }
}

/**
 * The token of the header `Authorization`, or without that header the token of the cookie. A browser sends the cookie also with requests that
 * other pages cause. So a request that may change something must prove that it comes from a page of this engine: by its Origin, which the
 * gate has compared, or by a header that other pages cannot send without being allowed to. Throws `origin_refused`.
 */
export function credentialOf(gate: Gate, method: string, cookie: SessionCookie | null): Credential {
  if (gate.authorization !== '') return { token: bearerOf(gate.authorization), by_cookie: false }
  const token = cookie === null || gate.cookie === '' ? null : cookie.tokenOf(gate.cookie)
  if (token === null) return { token: null, by_cookie: false }
  if (!SAFE.has(method) && gate.origin === '' && gate.svc_request !== '1')
    throw new ServiceError('origin_refused', 'A request with a session cookie needs an Origin or "x-svc-request: 1".')
  return { token, by_cookie: true }
}
