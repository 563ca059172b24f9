import type { NormalNode } from '../../protocol/nouns/flow-document.ts'
import { canonical, keyText, type View } from '../../protocol/values/canonical-json.ts'

/**
 * The key of the stage cache: has this node, unchanged, already executed with these values? A fingerprint is a few named parts,
 * each a SHA-256 in hex, and the key computed from them. The parts are kept beside the key, so that a miss can say which of
 * them changed.
 *
 *   source         canonical {digest, language}: digest of the stripped body
 *   settings       the settings as the document has them
 *   ports          canonical {inputs, outputs}: as declared, each side by name
 *   env            the environment of the body, of a node that has one
 *   code           the code digest of the repository as it stands, '' without one
 *   secrets        canonical list of [name, version] of the secrets that it is known to use, by name; absent without one
 *   values.<port>  the items that the port's message carried in this run, in order: `SequenceDigest`
 *
 *   key            SHA-256 of "stage 1", a line feed and the canonical parts
 *
 * `test/conformance/fingerprint.json` has examples for other languages.
 */
export type FingerprintParts = Readonly<Record<string, string>>

export interface Fingerprint {
  /** SHA-256, hex. */
  key: string
  parts: FingerprintParts
}

/** SHA-256 of the text's UTF-8, in hex. */
export type Sha256 = (text: string) => string

/** Incremented when the same node and values get another key; every stored key is a miss from then on. */
const VERSION = 'stage 1\n'

/** Everything else has effects outside its outputs, or asks not to be. */
export const isCacheable = (node: Pick<NormalNode, 'type' | 'cache'>): boolean => node.type === 'code' && node.cache

/** What of a node is the same in every run: made once for a node of a plan. */
export class StageFingerprint {
  readonly #source: string
  readonly #settings: string
  readonly #ports: string
  /** Null without one: its part is absent, too. */
  readonly #env: string | null
  readonly #inputs: readonly { name: string; part: string; text: string }[]
  /** The canonical text of the parts that never change, before and behind `secrets`, where the order of names has them. */
  readonly #before: string
  readonly #behind: string
  readonly #sha256: Sha256

  /** `digest`: of the stripped body, hex. */
  constructor(
    node: Pick<NormalNode, 'language' | 'settings' | 'ports'> & Partial<Pick<NormalNode, 'resources'>>,
    digest: string,
    sha256: Sha256,
  ) {
    this.#sha256 = sha256
    this.#source = sha256(canonical({ digest, language: node.language }))
    this.#settings = sha256(keyText(node.settings))
    const inputs = node.ports.inputs.toSorted(byName)
    this.#ports = sha256(canonical({ inputs, outputs: node.ports.outputs.toSorted(byName) }))
    this.#inputs = inputs.map(({ name }) => ({ name, part: `values.${name}`, text: `,"values.${name}":"` }))
    const { env = {} } = node.resources ?? {}
    this.#env = Object.keys(env).length === 0 ? null : sha256(keyText(env))
    const envText = this.#env === null ? '' : `","env":"${this.#env}`
    this.#before = `${envText}","ports":"${this.#ports}`
    this.#behind = `","settings":"${this.#settings}","source":"${this.#source}"`
  }

  /** The part of that name: it says which values were used, and nothing about them. */
  secrets(versions: readonly (readonly [name: string, version: string])[]): string | undefined {
    return versions.length === 0 ? undefined : this.#sha256(canonical(versions))
  }

  /** `code`: the code digest of the run, hex, '' without one. `values`: what each input port read, by the name of the port. */
  key(
    code: string,
    values: Readonly<Record<string, string>>,
    secrets: readonly (readonly [name: string, version: string])[] = [],
  ): Fingerprint {
    const parts: Record<string, string> = { code, ports: this.#ports, settings: this.#settings, source: this.#source }
    if (this.#env !== null) parts['env'] = this.#env
    // Digests and names need no escapes, and the names stand in order already: this is the canonical text of the parts.
    const named = this.secrets(secrets)
    if (named !== undefined) parts['secrets'] = named
    const secretsText = named === undefined ? '' : `","secrets":"${named}`
    let text = `${VERSION}{"code":"${code}${this.#before}${secretsText}${this.#behind}`
    for (const { name, part, text: before } of this.#inputs) {
      const digest = values[name]
      if (digest === undefined) throw new RangeError(`no digest of what port ${name} read`)
      parts[part] = digest
      text += `${before}${digest}"`
    }
    return { key: this.#sha256(`${text}}`), parts }
  }
}

/** The parts in which two fingerprints differ, one that only one of them has among them; in alphabetical order. */
export function changedParts(before: FingerprintParts, after: FingerprintParts): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].filter(name => before[name] !== after[name]).sort()
}

/**
 * The digest of a sequence of items, one after the other. One item: the SHA-256 of its canonical JSON, an artifact in it
 * counting as its digest and media type. Each further one: the SHA-256 of the digest so far and that of the item, their hex
 * written one behind the other. No items: ''.
 */
export class SequenceDigest {
  readonly #sha256: Sha256
  #count = 0
  #digest = ''

  constructor(sha256: Sha256) {
    this.#sha256 = sha256
  }

  add(item: unknown): void {
    this.addDigest(itemDigest(item, this.#sha256))
  }

  /** For an item that several ports read: `itemDigest` is made once. */
  addDigest(digest: string): void {
    this.#digest = this.#count === 0 ? digest : this.#sha256(this.#digest + digest)
    this.#count++
  }

  get count(): number {
    return this.#count
  }

  get digest(): string {
    return this.#digest
  }
}

export const itemDigest = (item: unknown, sha256: Sha256): string => sha256(keyText(item, artifactsAsDigests))

const DIGEST = /^sha256:[0-9a-f]{64}$/

/** `meta` and whatever else a reference carries says nothing of the bytes. */
const artifactsAsDigests: View = object => {
  const { digest, media_type } = object
  if (typeof digest !== 'string' || typeof media_type !== 'string' || !DIGEST.test(digest)) return object
  return { digest, media_type }
}

const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1)
