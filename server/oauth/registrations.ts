import { randomUUID } from 'node:crypto'
import { limits } from '../../protocol/limits.ts'
import { OAuthError } from './oauth-error.ts'
import { isRedirectUri } from './redirects.ts'
import { ShortLived } from './short-lived.ts'

/** A program that asked to become a client. Nobody has let it in. */
export interface Registration {
  readonly client_id: string
  readonly client_name: string
  readonly redirect_uris: readonly string[]
  /** Milliseconds since 1970. */
  readonly created_ms: number
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a name is shown to people
const UNSHOWN = /[\u0000-\u001f\u007f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g

/**
 * Dynamic registration (RFC 7591), of public clients alone. What is registered is kept in memory for an hour, and becomes a client when a user
 * approves it; so a flood of registrations leaves nothing behind.
 */
export class Registrations {
  readonly #pending: ShortLived<Registration>
  readonly #now: () => number

  constructor(now_ms: () => number) {
    this.#now = now_ms
    this.#pending = new ShortLived(limits.REGISTRATIONS, limits.REGISTRATION_LIFETIME_MS, now_ms)
  }

  /** Throws `invalid_client_metadata` or `invalid_redirect_uri`. Unknown members of the request are ignored, as the RFC wants. */
  register(asked: unknown): Registration {
    if (typeof asked !== 'object' || asked === null || Array.isArray(asked))
      throw new OAuthError('invalid_client_metadata', 'Send one JSON object.')
    const { redirect_uris, client_name, grant_types, response_types } = asked as Record<string, unknown>
    if (!Array.isArray(redirect_uris) || redirect_uris.length === 0 || redirect_uris.length > limits.REDIRECT_URIS)
      throw new OAuthError('invalid_redirect_uri', `Send 1 to ${limits.REDIRECT_URIS} redirect_uris.`)
    for (const uri of redirect_uris)
      if (typeof uri !== 'string' || !isRedirectUri(uri))
        throw new OAuthError(
          'invalid_redirect_uri',
          'A redirect URI is https, http on this machine, or the scheme of an application; without a fragment and a user name.',
        )
    holds('grant_types', grant_types, ['authorization_code', 'refresh_token'])
    holds('response_types', response_types, ['code'])
    if (client_name !== undefined && typeof client_name !== 'string')
      throw new OAuthError('invalid_client_metadata', 'client_name is a text.')
    const name = (client_name ?? '').replaceAll(UNSHOWN, '').trim().slice(0, limits.CLIENT_NAME_CHARACTERS)
    const registration: Registration = {
      client_id: randomUUID(),
      client_name: name === '' ? 'unnamed program' : name,
      redirect_uris: redirect_uris as string[],
      created_ms: this.#now(),
    }
    this.#pending.put(registration.client_id, registration)
    return registration
  }

  find(client_id: string): Registration | null {
    return this.#pending.get(client_id)
  }

  /** It was let in, or a superuser took it away. Was there one? */
  remove(client_id: string): boolean {
    return this.#pending.take(client_id) !== null
  }

  /** Oldest first. */
  list(): Registration[] {
    return this.#pending.values()
  }

  get size(): number {
    return this.#pending.size
  }
}

function holds(name: string, asked: unknown, known: readonly string[]): void {
  if (asked === undefined) return
  if (!Array.isArray(asked) || !asked.every(each => known.includes(each as string)))
    throw new OAuthError('invalid_client_metadata', `${name} may hold ${known.join(', ')}.`)
}
