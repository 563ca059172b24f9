import { ServiceError } from '../../protocol/errors.ts'
import { SUBPROTOCOL } from '../../protocol/socket/frames.ts'
import { bearerOf } from '../auth/gatekeeper.ts'
import type { Gate } from './gate.ts'
import type { SessionCookie } from './session-cookie.ts'

/** What a websocket request asks for, once it is allowed. */
export interface UpgradeRequest {
  readonly token: string
  /** The one subprotocol to answer with; empty when the client offered none. */
  readonly protocol: string
  readonly key: string
  readonly extensions: string
}

const BEARER_PROTOCOL = /^bearer\.([A-Za-z0-9._~+/=-]+)$/

/**
 * Checks the headers of a websocket request. The token comes in `Authorization`, or (browsers) as the subprotocol pair
 * `svc.v1, bearer.<token>`, of which only `svc.v1` is answered, or in the session cookie; a token in the address would end in logs, so any
 * query is refused. The gate has looked at Host and Origin.
 */
export function readUpgrade(gate: Gate, query: string, cookie: SessionCookie | null): UpgradeRequest {
  if (gate.upgrade.toLowerCase() !== 'websocket' || gate.socket_version !== '13' || gate.socket_key.length !== 24)
    throw new ServiceError('upgrade_required')
  if (query !== '') {
    const name = query.slice(0, 64).split(/[=&]/, 1)[0]!
    throw new ServiceError(
      'validation',
      'A websocket takes no query parameters; never put the token into the address.',
      {
        errors: [{ loc: `query.${name}`, msg: 'is not known to this route' }],
      },
    )
  }
  const offered = gate.socket_protocols.split(',').map(text => text.trim())
  const protocol = offered.includes(SUBPROTOCOL) ? SUBPROTOCOL : ''
  const token = tokenOf(gate.authorization, protocol === '' ? [] : offered) ?? cookieOf(gate, cookie)
  if (token === null)
    throw new ServiceError(
      'unauthenticated',
      `Browsers sign in with POST /login/session, or offer the subprotocols "${SUBPROTOCOL}" and "bearer.<token>"; other clients sign in as for any route.`,
    )
  return { token, protocol, key: gate.socket_key, extensions: gate.socket_extensions }
}

/** Browsers send the cookie along, and an Origin that pages cannot change; the gate has compared it. */
function cookieOf(gate: Gate, cookie: SessionCookie | null): string | null {
  if (cookie === null || gate.authorization !== '' || gate.cookie === '') return null
  const token = cookie.tokenOf(gate.cookie)
  if (token !== null && gate.origin === '')
    throw new ServiceError('origin_refused', 'A websocket with a session cookie needs an Origin.')
  return token
}

function tokenOf(authorization: string, offered: readonly string[]): string | null {
  if (authorization !== '') return bearerOf(authorization)
  for (const text of offered) {
    const match = BEARER_PROTOCOL.exec(text)
    if (match) return match[1]!
  }
  return null
}
