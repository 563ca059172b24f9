import { limits } from '../../protocol/limits.ts'

const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost'])
/** Schemes that a browser runs or reads itself: never where an answer is sent. */
const NEVER = new Set([
  'javascript:',
  'data:',
  'vbscript:',
  'blob:',
  'file:',
  'about:',
  'filesystem:',
  'view-source:',
  'ws:',
  'wss:',
  'ftp:',
])

/** A name or an address, and nothing that means more in the policy of a page. */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])$/

/**
 * May answers be sent there? https, http on this machine (RFC 8252 7.3), or a scheme that an application has registered (7.1). No fragment, no
 * user name.
 */
export function isRedirectUri(text: string): boolean {
  if (text.length > limits.REDIRECT_URI_CHARACTERS || !URL.canParse(text) || /[\s\\#]/.test(text)) return false
  const { protocol, hostname, username, password, href } = new URL(text)
  if (username !== '' || password !== '' || NEVER.has(protocol)) return false
  if (protocol === 'http:') return LOOPBACK.has(hostname)
  if (protocol === 'https:') return HOST.test(hostname)
  return href.length > protocol.length
}

/** Is it the registered one? Of an address on this machine the port may be another (RFC 8252 7.3); all else is compared as text. */
export function isSameRedirect(registered: string, asked: string): boolean {
  if (registered === asked) return true
  if (!URL.canParse(registered) || !isRedirectUri(asked)) return false
  const one = new URL(registered)
  const other = new URL(asked)
  if (one.protocol !== 'http:' || !LOOPBACK.has(one.hostname)) return false
  one.port = other.port = ''
  return one.href === other.href
}

/** What a policy of a page names for it: its origin, or its scheme where there is none. */
export function sourceOf(redirect_uri: string): string {
  const { origin, protocol } = new URL(redirect_uri)
  return origin === 'null' ? protocol : origin
}

/** The address with more members in its query. */
export function withQuery(redirect_uri: string, members: Record<string, string | null>): string {
  const url = new URL(redirect_uri)
  for (const [name, value] of Object.entries(members)) if (value !== null) url.searchParams.set(name, value)
  return url.href
}
