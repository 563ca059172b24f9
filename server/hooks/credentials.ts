import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { limits } from '../../protocol/limits.ts'
import type { WebhookSettings } from '../../threads/nodes/types/webhook.ts'
import { Slice } from '../watch/slices.ts'

/** Settings with their secrets looked up. */
export interface Credentials {
  readonly hmac: { readonly header: string; readonly secret: string; readonly algorithm: string } | null
  readonly token: { readonly header: string; readonly secret: string } | null
}

export function credentialsOf({ hmac = null, token = null }: WebhookSettings): Credentials {
  return {
    hmac:
      hmac === null
        ? null
        : { header: hmac.header.toLowerCase(), secret: String(hmac.secret), algorithm: hmac.algorithm ?? 'sha256' },
    token: token === null ? null : { header: token.header.toLowerCase(), secret: String(token.secret) },
  }
}

/** Header fields that carry credentials: they are never published. */
export const isCredential = ({ hmac, token }: Credentials, name: string): boolean =>
  name === 'authorization' ||
  name === 'cookie' ||
  name === 'proxy-authorization' ||
  name === hmac?.header ||
  name === token?.header

/** Does the request carry what the node asks for? Compared in constant time. That a request was sent before is not noticed. */
export async function mayPass(
  { hmac, token }: Credentials,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
): Promise<boolean> {
  if (token !== null && !isSame(bare(headers[token.header] ?? ''), token.secret)) return false
  if (hmac === null) return true
  const given = headers[hmac.header]
  if (given === undefined) return false
  const slice = new Slice()
  const hash = createHmac(hmac.algorithm, hmac.secret)
  for (let at = 0; at < body.length; at += limits.UPLOAD_PIECE_BYTES) {
    hash.update(body.subarray(at, at + limits.UPLOAD_PIECE_BYTES))
    await slice.rest()
  }
  const digest = hash.digest()
  const prefix = `${hmac.algorithm}=`
  const text = given.startsWith(prefix) ? given.slice(prefix.length) : given
  const isHex = isSame(text.toLowerCase(), digest.toString('hex'))
  return isSame(text, digest.toString('base64')) || isHex
}

const bare = (text: string): string => text.replace(/^Bearer +/i, '')

/** Digests have one length, so that not even that of the secret shows. */
const isSame = (given: string, wanted: string): boolean => timingSafeEqual(digestOf(given), digestOf(wanted))
const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()
