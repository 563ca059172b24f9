import type { NormalDocument } from '../../protocol/nouns/flow-document.ts'
import { secretsOf } from '../../threads/nodes/secrets.ts'

/** A flow as far as its use of secrets goes. */
export interface UsingFlow {
  readonly name: string
  readonly document: NormalDocument
}

/** A name in a call such as `ctx.secret('name')`. What a body makes up when it runs is seen when it asks. */
const LITERAL = /\bsecret\s*\(\s*(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\$]|\\.)*)`)\s*,?\s*\)/g

export type UsingNode = Pick<NormalDocument['nodes'][number], 'id' | 'settings' | 'source'>

const uses = new WeakMap<NormalDocument, ReadonlyMap<string, ReadonlySet<string>>>()

/** By node: the names of secrets that its settings and its source name. Worked out once for a document. */
export function secretsIn(document: NormalDocument): ReadonlyMap<string, ReadonlySet<string>> {
  let found = uses.get(document)
  if (found === undefined) {
    const nodes = new Map<string, ReadonlySet<string>>()
    for (const node of document.nodes) {
      const names = namesIn(node)
      if (names.size > 0) nodes.set(node.id, names)
    }
    uses.set(document, (found = nodes))
  }
  return found
}

const names_of = new WeakMap<UsingNode, ReadonlySet<string>>()

/** Of one node. */
export function namesIn(node: UsingNode): ReadonlySet<string> {
  let names = names_of.get(node)
  if (names === undefined) {
    names = new Set([...secretsOf(node.settings, '').map(({ name }) => name), ...literalsOf(node.source)])
    names_of.set(node, names)
  }
  return names
}

function* literalsOf(source: string | null): Iterable<string> {
  if (source === null || !source.includes('secret')) return
  for (const [, single, double, template] of source.matchAll(LITERAL))
    yield unescaped(single ?? double ?? template ?? '')
}

/** As far as names need it. */
const unescaped = (text: string): string =>
  text.replace(
    /\\u\{([0-9a-fA-F]{1,6})\}|\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})|\\(.)/g,
    (_all, long, four, two, other) => {
      const code = long ?? four ?? two
      if (code === undefined) return ESCAPES[other as string] ?? (other as string)
      const point = Number.parseInt(code as string, 16)
      return point <= 0x10ffff ? String.fromCodePoint(point) : ''
    },
  )

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' }
