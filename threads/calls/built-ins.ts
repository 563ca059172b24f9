import { Buffer } from 'node:buffer'
import { closeObject, type Holder } from './closed-objects.ts'
import { HostGlobals } from './host-globals.ts'

/**
 * What the bodies of a thread share with each other and with the engine: the language itself, and what Node adds to it.
 *
 *   once, before any body is loaded   built-ins are closed: nothing can be added to them, nothing of them replaced
 *   after each call                   what cannot be closed at no cost is looked at, and put back: OPEN, RegExp.prototype, Node's globals
 *
 * Not closed: what Node's modules export, and web classes that Node loads with their first use.
 */
export class BuiltIns {
  readonly #host: HostGlobals
  readonly #open: readonly OpenProperty[]
  readonly #regexp: readonly KeptProperty[]
  readonly #isAsItWas: () => boolean

  constructor() {
    Object.defineProperty(Error, 'prepareStackTrace', { value: undefined, writable: true, configurable: true })
    const language = new Set(LANGUAGE.filter(name => Object.hasOwn(globalThis, name)))
    const globals: OpenObject = [globalThis as unknown as Holder, ...language]
    this.#open = [...OPEN, globals].flatMap(([holder, ...keys]) =>
      keys.map(key => ({ holder, key, value: holder[key], name: `${nameOf(holder)}.${String(key)}` })),
    )
    this.#isAsItWas = comparison(this.#open)
    this.#regexp = Reflect.ownKeys(RegExp.prototype).map(key => ({ key, was: descriptorOf(RegExp.prototype, key) }))
    for (const holder of reachable(language)) if (holder !== prototypeOf(RegExp)) close(holder)
    for (const name of language) Object.defineProperty(globalThis, name, { configurable: false })
    this.#host = new HostGlobals(language)
    for (const { prototype } of NODE_CLASSES) close(prototype as unknown as Holder)
    Object.preventExtensions(performance)
  }

  /** A body's module has been loaded: variables that it has set in `process.env` stay, as those of any program's start do. */
  loaded(): void {
    this.#host.keepEnvironment()
  }

  /** Before a call: what an earlier body has left running may have replaced something since. */
  undo(): void {
    this.#host.undo()
  }

  /**
   * After a call: puts back what its body has replaced. Names what was made so that it cannot be put back; the thread is lost for
   * other bodies then. Counts its way through arrays, here and in HostGlobals: iterators are among what may be replaced.
   */
  restore(): string | null {
    this.#host.restore()
    if (this.#isWhole()) return null
    for (let at = 0; at < this.#open.length; at++) {
      const { holder, key, value } = this.#open[at]!
      if (getOwnPropertyDescriptor(holder, key)?.value !== value) set(holder, key, value)
    }
    const now = ownKeys(REGEXP)
    for (let at = 0; at < now.length; at++) deleteProperty(REGEXP, now[at]!)
    for (let at = 0; at < this.#regexp.length; at++)
      defineProperty(REGEXP, this.#regexp[at]!.key, this.#regexp[at]!.was)
    setPrototypeOf(REGEXP, OBJECT)
    return this.#isWhole() ? null : this.#lost()
  }

  /** Costs some tenths of a microsecond. What a body has put in place of a getter runs here. */
  #isWhole(): boolean {
    try {
      for (const _added in ALL_FLAGS) return false
      return this.#isAsItWas() && ALL_FLAGS.flags === 'dgimsuy' && getPrototypeOf(REGEXP) === OBJECT
    } catch {
      return false
    }
  }

  #lost(): string {
    for (let at = 0; at < this.#open.length; at++) {
      const { holder, key, value, name } = this.#open[at]!
      if (getOwnPropertyDescriptor(holder, key)?.value !== value) return name
    }
    return 'RegExp.prototype'
  }
}

/** Whole functions, as this thread knew them before any body did. */
const { defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, set, setPrototypeOf } =
  Reflect
const OBJECT = Object.prototype
const REGEXP = RegExp.prototype

/** Written out: a place of its own in the code for each of a hundred reads makes them three times as fast as a loop over them. */
function comparison(open: readonly OpenProperty[]): () => boolean {
  const read = (at: number, { holder, key }: OpenProperty): string => {
    if (typeof key === 'symbol') return `holder${at}[key${at}]`
    return (holder as unknown) === globalThis ? String(key) : `holder${at}.${String(key)}`
  }
  const names = open.flatMap((_, at) => [`holder${at}`, `key${at}`, `value${at}`])
  const code = open.map((property, at) => `${read(at, property)} === value${at}`).join(' && ')
  const make = new Function(...names, `'use strict'; return () => ${code}`)
  return make(...open.flatMap(({ holder, key, value }) => [holder, key, value])) as () => boolean
}

interface KeptProperty {
  readonly key: PropertyKey
  readonly was: PropertyDescriptor
}

interface OpenProperty {
  readonly holder: Holder
  readonly key: PropertyKey
  readonly value: unknown
  readonly name: string
}

/** What all iterators inherit from, or all asynchronous ones. */
function inheritedBy(iterator: object): Holder {
  const above: unknown = Object.getPrototypeOf(iterator)
  return above === Object.prototype ? (iterator as Holder) : inheritedBy(above as object)
}

/** A holder and keys of it. */
type OpenObject = readonly [Holder, ...PropertyKey[]]

const prototypeOf = (of: { prototype: unknown }): Holder => of.prototype as Holder

/**
 * The properties that stay writable. V8 has fast paths for arrays, promises, maps and sets that hold only while nobody has
 * redefined these (measured: without them `map` and `slice` of an array take 20 times as long, and a regular expression 8
 * times). `constructor` is also what `util.inspect` names an
 * object by, which it reads from a plain property only, and what transpiled classes assign.
 */
const OPEN: readonly OpenObject[] = [
  [prototypeOf(Object), 'constructor'],
  [prototypeOf(Function), 'constructor'],
  [prototypeOf(Array), 'constructor', Symbol.iterator, 'length'],
  [prototypeOf(Promise), 'constructor', 'then'],
  [prototypeOf(Map), 'constructor', Symbol.iterator],
  [prototypeOf(Set), 'constructor', Symbol.iterator],
  [prototypeOf(Error), 'constructor'],
  [prototypeOf(TypeError), 'constructor'],
  [prototypeOf(RangeError), 'constructor'],
  [prototypeOf(RegExp), 'constructor', 'exec', 'test', 'toString', 'compile'],
  [prototypeOf(RegExp), Symbol.match, Symbol.matchAll, Symbol.replace, Symbol.search, Symbol.split],
  [inheritedBy([].values()), Symbol.iterator],
  [inheritedBy((async function* () {})()), Symbol.asyncIterator],
  // Libraries set these two to read their callers' names.
  [Error as unknown as Holder, 'stackTraceLimit', 'prepareStackTrace'],
]
const OPEN_KEYS = new Map<Holder, Set<PropertyKey>>()
for (const [holder, ...keys] of OPEN) OPEN_KEYS.set(holder, new Set([...(OPEN_KEYS.get(holder) ?? []), ...keys]))

/** Reading its flags reads every getter of RegExp.prototype. */
const ALL_FLAGS = /x/dgimsuy

/** Names on the global object that are the language's, and are closed there. The others are Node's: see HostGlobals. */
const LANGUAGE = (
  'globalThis Object Function Array Number Boolean String Symbol BigInt Date Promise RegExp Proxy Reflect JSON Math Atomics Intl Iterator ' +
  'Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError WebAssembly ' +
  'ArrayBuffer SharedArrayBuffer DataView Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array Float32Array ' +
  'Float64Array Uint8ClampedArray BigUint64Array BigInt64Array Map Set WeakMap WeakSet WeakRef FinalizationRegistry ' +
  'eval isFinite isNaN parseFloat parseInt decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape'
).split(' ')

/** The Node classes that the engine uses in this thread. */
const NODE_CLASSES = [
  AbortController,
  AbortSignal,
  Buffer,
  Event,
  EventTarget,
  MessageChannel,
  MessagePort,
  performance.constructor as { prototype: unknown },
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
]

/** Iterators and functions of other kinds have no name; examples lead to what they inherit from. */
const unnamed = (): object[] => [
  [].values(),
  new Map().values(),
  new Set().values(),
  ''[Symbol.iterator](),
  ''.matchAll(/x/g),
  ...iteratorHelpers(),
  function* () {},
  async () => {},
  async function* () {},
]

/** Too new for the types: `map` of an iterator, and what `Iterator.from` makes of one. */
function iteratorHelpers(): object[] {
  const { Iterator } = globalThis as unknown as { Iterator: { from(of: object): { map(change: unknown): object } } }
  const wrapped = Iterator.from({ next: () => ({ done: true }) })
  return [wrapped, wrapped.map(String)]
}

/** V8 has fast ways for these that hold as long as nobody has redefined their `next`. */
const PLAIN: ReadonlySet<unknown> = new Set(
  [[].values(), new Map().values(), new Set().values(), ''[Symbol.iterator]()].map(iterator =>
    Object.getPrototypeOf(iterator),
  ),
)

/** Every object of the language that can be reached from its names and its syntax. */
function reachable(language: ReadonlySet<string>): Set<Holder> {
  const found = new Set<Holder>()
  const queue: unknown[] = unnamed().map(example => Object.getPrototypeOf(example))
  for (const name of language) if (name !== 'globalThis') queue.push((globalThis as Record<string, unknown>)[name])
  while (queue.length > 0) {
    const next = queue.pop()
    if ((typeof next !== 'object' && typeof next !== 'function') || next === null || found.has(next as Holder)) continue
    found.add(next as Holder)
    queue.push(Object.getPrototypeOf(next))
    for (const key of Reflect.ownKeys(next)) {
      const { value, get, set } = descriptorOf(next, key)
      queue.push(value, get, set)
    }
  }
  return found
}

function close(holder: Holder): void {
  const open = OPEN_KEYS.get(holder) ?? new Set()
  closeObject(holder, { name: nameOf(holder), open, isPlain: PLAIN.has(holder) })
}

const descriptorOf = (holder: object, key: PropertyKey): PropertyDescriptor =>
  Object.getOwnPropertyDescriptor(holder, key)!

/** As a body's author would write it. */
function nameOf(holder: Holder): string {
  if ((holder as unknown) === globalThis) return 'globalThis'
  if (typeof holder === 'function' && (holder as unknown) !== Function.prototype)
    return (holder as { name: string }).name
  const maker = Object.getOwnPropertyDescriptor(holder, 'constructor')?.value
  if (typeof maker === 'function') return `${maker.name}.prototype`
  return String(Object.getOwnPropertyDescriptor(holder, Symbol.toStringTag)?.value ?? 'A built-in')
}
