import { createHash, hkdfSync, randomBytes } from 'node:crypto'
import { FlattenedEncrypt, type FlattenedJWE, flattenedDecrypt } from 'jose'
import { limits } from '../../protocol/limits.ts'

/**
 * The file that keys are derived from. It begins with the signing key; each rekey appends a block of random bytes, and the last block is
 * the one that new values are sealed under. Older ones stay, `limits.SECRET_KEYS` of them at most, so that an older backup can be restored.
 */
export interface KeyFile {
  read(): string
  /** In one step, on disk when it returns. */
  replace(text: string): void
}

/** What lies in the store; `kid` in its protected header names the key. */
export type Sealed = FlattenedJWE

const BEGIN = '-----BEGIN FLOW ENGINE SECRETS KEY-----'
const END = '-----END FLOW ENGINE SECRETS KEY-----'
const BLOCK = new RegExp(`${BEGIN}\\s*([A-Za-z0-9+/=]+)\\s*${END}\\n?`, 'g')

/** Of the same bytes always the same key: nothing but the file has to be kept. */
const derived = (material: string, info: string, bytes: number): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', Buffer.from(material, 'base64'), '', `flow-engine secrets ${info}`, bytes))

interface Key {
  readonly kid: string
  readonly bytes: Uint8Array
}

const keyOf = (material: string): Key => ({
  kid: Buffer.from(derived(material, 'key id', 8)).toString('hex'),
  bytes: derived(material, 'A256GCM', 32),
})

/** The first block of the file, which every installation has: the base64 between its lines. */
function signingMaterial(text: string): string {
  const [, body = ''] = /-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----/.exec(text) ?? []
  const material = body.replace(/\s/g, '')
  if (material === '') throw new TypeError('the key file begins with a private key')
  return material
}

/** Seals texts with AES-256-GCM (JWE `dir`, `A256GCM`) under a key of the key file, each bound to its name: a row under another name does not open. */
export class Sealing {
  readonly #file: KeyFile
  /** The last is the newest. */
  #keys: readonly Key[]

  constructor(file: KeyFile) {
    this.#file = file
    this.#keys = keysIn(file.read())
  }

  get #newest(): Key {
    return this.#keys.at(-1)!
  }

  async seal(name: string, text: string): Promise<Sealed> {
    const { kid, bytes } = this.#newest
    return new FlattenedEncrypt(Buffer.from(text, 'utf8'))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid })
      .setAdditionalAuthenticatedData(boundTo(name))
      .encrypt(bytes)
  }

  /** Null: it was sealed under a key that the file does not have, or is not what was sealed under this name. */
  async open(name: string, sealed: Sealed): Promise<string | null> {
    try {
      const { plaintext } = await flattenedDecrypt(
        { ...sealed, aad: Buffer.from(boundTo(name)).toString('base64url') },
        header => {
          const key = this.#keys.find(({ kid }) => kid === header?.['kid'])
          if (key === undefined) throw new RangeError('its key is not in the key file')
          return key.bytes
        },
        { keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'] },
      )
      return Buffer.from(plaintext).toString('utf8')
    } catch {
      return null
    }
  }

  isNewest({ protected: header = '' }: Sealed): boolean {
    try {
      return JSON.parse(Buffer.from(header, 'base64url').toString()).kid === this.#newest.kid
    } catch {
      return false
    }
  }

  /** On disk when it returns; what is sealed from now on is sealed under a new key. */
  addKey(): void {
    const text = this.#file.read()
    const blocks = text.match(BLOCK) ?? []
    const first = text.replace(BLOCK, '').trimEnd()
    const added = `${BEGIN}\n${randomBytes(32).toString('base64')}\n${END}\n`
    const kept = [...blocks.map(block => `${block.trimEnd()}\n`), added].slice(-limits.SECRET_KEYS)
    this.#file.replace(`${first}\n${kept.join('')}`)
    this.#keys = keysIn(this.#file.read())
  }
}

const keysIn = (text: string): Key[] =>
  [signingMaterial(text), ...[...text.matchAll(BLOCK)].map(([, material]) => material!)].map(keyOf)

/** Of one length, whatever the name. */
const boundTo = (name: string): Uint8Array => createHash('sha256').update(`secret\n${name}`).digest()
