/**
 * Digests and media types as texts. Apart from artifact.ts, because the threads that store bytes need these and none of the schema
 * library, whose modules take 180 ms of processor time and some 15 MB to load.
 */

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]{1,127}"
/** `type/subtype` and parameters (RFC 9110); a quoted value holds neither quotes nor backslashes, so it can stand in a header as it is. */
const MEDIA_TYPE = new RegExp(`^${TOKEN}/${TOKEN}(?:[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|"[ !#-\\[\\]-~]*"))*$`)
const MEDIA_TYPE_CHARACTERS = 127

export const isMediaType = (text: string): boolean => text.length <= MEDIA_TYPE_CHARACTERS && MEDIA_TYPE.test(text)

const DIGEST = /^sha256:([0-9a-f]{64})$/
/** The hex digits of a digest; null when it is not a digest. */
export const hexOf = (digest: unknown): string | null =>
  typeof digest === 'string' ? (DIGEST.exec(digest)?.[1] ?? null) : null
export const digestOf = (hex: string): string => `sha256:${hex}`
