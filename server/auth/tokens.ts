import { randomBytes } from 'node:crypto'
import { errors, jwtVerify, SignJWT } from 'jose'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { SigningKey } from './signing-key.ts'

/** Each kind of token has its own `typ` and `aud`, and is refused wherever another kind is wanted. */
export type TokenKind = 'access' | 'reset' | 'worker' | 'client' | 'refresh' | 'panel'

export interface Claims {
  /** Of this token alone: sign-out revokes it. */
  readonly id: string
  readonly subject: string
  /** What else has to be as it was when the token was minted, for it to stand: see `BINDINGS`. */
  readonly binding: string
  /** Milliseconds since 1970. */
  readonly issued_ms: number
  readonly expires_ms: number
}

/**
 * The claim of each kind that binds a token to something that can change. `access`, `reset`: digest of the password hash; both end when the
 * password changes. `client`: the id of the client, once more. `refresh`: its family
 * and generation. `panel`: the nonce of the panel, which unpairing changes; a token without
 * one is refused. `worker`: empty.
 */
const BINDINGS: Readonly<Record<TokenKind, string>> = {
  access: 'pwd',
  reset: 'pwd',
  worker: 'pwd',
  client: 'client_id',
  refresh: 'generation',
  panel: 'nonce',
}

const ALGORITHM = 'EdDSA'
const typeOf = (kind: TokenKind): string => `${kind}+jwt`

/** Mints and checks the service's own tokens: JWTs signed with Ed25519. The clock is in milliseconds since 1970. */
export class Tokens {
  readonly #key: SigningKey
  readonly #now: () => number

  constructor(key: SigningKey, now: () => number) {
    this.#key = key
    this.#now = now
  }

  mint(kind: TokenKind, subject: string, binding: string, lifetime_s: number): Promise<string> {
    const now_ms = this.#now()
    return new SignJWT({ [BINDINGS[kind]]: binding })
      .setProtectedHeader({ alg: ALGORITHM, typ: typeOf(kind) })
      .setJti(randomBytes(16).toString('base64url'))
      .setSubject(subject)
      .setAudience(kind)
      .setIssuedAt(now_ms / 1000)
      .setExpirationTime(Math.floor(now_ms / 1000) + lifetime_s)
      .sign(this.#key.sign)
  }

  /** Throws `token_expired` or `unauthenticated`; says nothing about why a token is no good, apart from its age. */
  async verify(kind: TokenKind, token: string): Promise<Claims> {
    if (token.length > limits.TOKEN_BYTES) throw new ServiceError('unauthenticated', 'The token is too long.')
    try {
      const { payload } = await jwtVerify(token, this.#key.check, {
        algorithms: [ALGORITHM],
        audience: kind,
        typ: typeOf(kind),
        requiredClaims: ['jti', 'sub', 'exp', 'iat', BINDINGS[kind]],
        currentDate: new Date(this.#now()),
      })
      const { jti, sub, iat, exp, [BINDINGS[kind]]: binding } = payload
      const isComplete = typeof jti === 'string' && typeof sub === 'string' && typeof binding === 'string'
      if (isComplete && typeof iat === 'number' && typeof exp === 'number')
        return {
          id: jti,
          subject: sub,
          binding,
          issued_ms: Math.round(iat * 1000),
          expires_ms: exp * 1000,
        }
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw new ServiceError('token_expired')
      if (!(error instanceof errors.JOSEError)) throw error
    }
    throw new ServiceError('unauthenticated', 'The token is not valid.')
  }
}
