import { randomBytes } from 'node:crypto'
import { errors, jwtVerify, SignJWT } from 'jose'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { SigningKey } from './signing-key.ts'

/** Each kind of token has its own `typ` and `aud`, and is refused wherever another kind is wanted. */
export type TokenKind = 'access' | 'reset' | 'worker'

export interface Claims {
  /** Of this token alone: sign-out revokes it. */
  readonly id: string
  readonly subject: string
  /** Digest of the password hash that the token was minted against; it stops verifying when the password changes. Empty for a worker. */
  readonly password_digest: string
  /** Milliseconds since 1970. */
  readonly issued_ms: number
  readonly expires_ms: number
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

  mint(kind: TokenKind, subject: string, password_digest: string, lifetime_s: number): Promise<string> {
    const now_ms = this.#now()
    return new SignJWT({ pwd: password_digest })
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
        requiredClaims: ['jti', 'sub', 'exp', 'iat', 'pwd'],
        currentDate: new Date(this.#now()),
      })
      const { jti, sub, iat, exp, pwd } = payload
      const isComplete = typeof jti === 'string' && typeof sub === 'string' && typeof pwd === 'string'
      if (isComplete && typeof iat === 'number' && typeof exp === 'number')
        return {
          id: jti,
          subject: sub,
          password_digest: pwd,
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
