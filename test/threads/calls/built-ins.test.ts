import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { Worker } from 'node:worker_threads'

interface Answer {
  readonly value?: unknown
  readonly error?: string
  readonly lost: string | null
}

const start = () => new Worker(new URL('../../kit/closed-thread.ts', import.meta.url), { env: { KEPT: 'as it was' } })
const shared = start()
after(() => shared.terminate())

async function ran(source: string, thread = shared): Promise<Answer> {
  thread.postMessage(source)
  return (await once(thread, 'message'))[0]
}
const does = (statements: string, thread = shared) => ran(`export default async load => { ${statements} }`, thread)

/** Reads what a later body would meet, as plain data. */
const LOOK = `return [
  [3, 1, 2].map(x => x * 2).sort().concat([1]), [...'ab', ...new Map([[1, 2]]), ...new Set([3])],
  JSON.stringify({ a: [1, { b: 2 }] }), JSON.parse('[1]'), String(Object.keys({ a: 1 })), Math.max(1, 2),
  'a-b'.replace(/-/g, '+'), /(\\d+)/.exec('a12')[1], 'a b'.split(/ /), await Promise.all([1, Promise.resolve(2)]),
  await new Promise(resolve => setTimeout(resolve, 0, 'later')), typeof fetch, typeof process.exit, process.env.KEPT,
  Object.keys(process.env), Reflect.ownKeys(Object.prototype).length, Reflect.ownKeys(Array.prototype).length,
  Reflect.ownKeys(RegExp.prototype).length, new Error('mine').stack.split('\\n').length > 1, ({}).polluted,
  process.listenerCount('uncaughtException'), new Date(0).toISOString(), Atomics.add(new Int32Array(1), 0, 1), console.log.name,
  new URL('http://a/b').pathname, Buffer.from('a').toString('hex'), performance.now() > 0, structuredClone({ a: 1 }), parseInt('7'),
]`

const REFUSED: [statement: string, words: RegExp][] = [
  [
    'Array.prototype.push = () => 0',
    /Array\.prototype\.push is shared by all bodies of this thread.*isolation: "process"/,
  ],
  ['Object.prototype.toString = () => ""', /Object\.prototype\.toString is shared/],
  ['Object.prototype.polluted = 1', /Cannot add property polluted, object is not extensible/],
  ['({}).__proto__.polluted = 1', /Cannot add property polluted/],
  ['Object.defineProperty(Array.prototype, 0, { value: 1 })', /not extensible/],
  ['Object.setPrototypeOf(Array.prototype, { polluted: 1 })', /not extensible/],
  [
    'Array.prototype.constructor = Object; Object.defineProperty(Array.prototype, "map", { value: 1 })',
    /Cannot redefine property: map/,
  ],
  ['JSON.stringify = () => "forged"', /JSON\.stringify is shared/],
  ['Math.max = () => 7', /Math\.max is shared/],
  ['Promise.prototype.catch = () => 0', /Promise\.prototype\.catch is shared/],
  ['Promise.resolve = () => 0', /Promise\.resolve is shared/],
  ['Atomics.add = () => 0', /Atomics\.add is shared/],
  ['String.prototype.split = () => []', /String\.prototype\.split is shared/],
  ['[].values().__proto__.next = () => 0', /Cannot assign to read only property 'next'/],
  ['(function* () {}).constructor.prototype.prototype.next = () => 0', /\.next is shared|read only property 'next'/],
  ['Uint8Array.prototype.__proto__.fill = () => 0', /TypedArray\.prototype\.fill is shared/],
  ['delete globalThis.queueMicrotask', /Cannot delete property 'queueMicrotask'/],
  ['delete globalThis.Map', /Cannot delete property 'Map'/],
  ['delete Map.prototype.get', /Cannot delete property 'get'/],
  ['Buffer.prototype.toString = () => ""', /Buffer\.prototype\.toString is shared/],
  [
    'MessageChannel.prototype.constructor; new MessageChannel().port1.constructor.prototype.postMessage = () => 0',
    /postMessage is shared|'postMessage'/,
  ],
  ['performance.now = () => 0', /Performance\.prototype\.now is shared|not extensible/],
]

const UNDONE = [
  'globalThis.Promise = globalThis.Array = globalThis.Object = globalThis.Reflect = globalThis.JSON = globalThis.Error = class {}',
  'globalThis.fetch = globalThis.setTimeout = globalThis.structuredClone = () => "forged"',
  'process.exit = process.emit = process.on = process.listenerCount = () => "forged"',
  'console.log = console.error = () => "forged"',
  'process.env.KEPT = "changed"; process.env.ADDED = "1"; delete process.env.KEPT',
  'process.env = {}',
  'Object.assign(process.env, { ADDED: "1" }); Object.defineProperty(process.env, "MORE", { value: "1", configurable: true, enumerable: true, writable: true })',
  'process.on("uncaughtException", () => {}); process.on("unhandledRejection", () => {})',
  'process.setUncaughtExceptionCaptureCallback(() => {})',
  'Array.prototype.constructor = Promise.prototype.constructor = Object.prototype.constructor = class {}',
  'Array.prototype[Symbol.iterator] = Map.prototype[Symbol.iterator] = function* () {}',
  'Promise.prototype.then = undefined',
  'RegExp.prototype.exec = () => null; RegExp.prototype[Symbol.replace] = () => "forged"; RegExp.prototype.polluted = 1',
  'Object.defineProperty(RegExp.prototype, "flags", { get() { throw new Error("mine") }, configurable: true })',
  'delete RegExp.prototype.test; Object.setPrototypeOf(RegExp.prototype, { polluted: 1 })',
  'Error.prepareStackTrace = () => "forged"; Error.stackTraceLimit = 0',
]

test('what a body writes over is refused in words, or undone before the next body', async () => {
  const before = (await does(LOOK)).value
  for (const [statement, words] of REFUSED) {
    const { error, lost } = await does(statement)
    assert.match(error ?? `${statement} was not refused`, words)
    assert.equal(lost, null, statement)
    assert.deepEqual((await does(LOOK)).value, before, statement)
  }
  for (const statement of UNDONE) {
    const { error, lost } = await does(statement)
    assert.deepEqual([error, lost], [undefined, null], statement)
    assert.deepEqual((await does(LOOK)).value, before, statement)
  }
})

test('what cannot be undone is named: the thread is no use to others', async t => {
  const LOST: [statement: string, name: string][] = [
    [
      'Object.defineProperty(Array.prototype, "constructor", { value: 1, writable: false })',
      'Array.prototype.constructor',
    ],
    ['Object.defineProperty(globalThis, "Promise", { value: 1, writable: false })', 'globalThis.Promise'],
    ['RegExp.prototype.exec = () => null; Object.freeze(RegExp.prototype)', 'RegExp.prototype.exec'],
  ]
  for (const [statement, name] of LOST) {
    const thread = start()
    t.after(() => thread.terminate())
    assert.equal((await does(statement, thread)).lost, name)
  }
})

test('a variable that a module sets while it is loaded is there for its calls', async () => {
  const module = 'process.env.OWN = "set"; export default () => { process.env.OWN += "!"; return process.env.OWN }'
  assert.deepEqual([(await ran(module)).value, (await ran(module)).value], ['set!', 'set!'])
  await does('delete process.env.OWN')
})

/** As compilers write classes for old engines. */
const EXTENDS = `
const __extends = (d, b) => {
  Object.setPrototypeOf(d, b)
  function __() { this.constructor = d }
  d.prototype = (__.prototype = b.prototype, new __())
}`

const WELL_BEHAVED: [what: string, statements: string, value: unknown][] = [
  [
    'methods that are assigned',
    `function Animal() {} Animal.prototype.toString = () => 'animal'; Animal.prototype.valueOf = () => 7
    function Dog() {} Dog.prototype = Object.create(Animal.prototype); Dog.prototype.constructor = Dog
    const dog = new Dog(); dog.hasOwnProperty = () => 'mine'
    return [String(dog), dog + 1, dog.constructor.name, dog.hasOwnProperty('x'), Object.keys(dog)]`,
    ['animal', 8, 'Dog', 'mine', ['hasOwnProperty']],
  ],
  [
    'errors with names of their own',
    `class Mine extends Error { constructor(m) { super(m); this.name = 'Mine'; this.message = m + '!'; this.toString = () => 'x' } }
    function Old(m) { this.message = m; this.name = 'Old'; this.stack = 's' } Old.prototype = Object.create(TypeError.prototype); Old.prototype.constructor = Old
    Old.prototype.name = 'OldMine'; const e = new RangeError('r'); e.name = 'Renamed'
    return [new Mine('a').message, new Mine('a').name, String(new Mine('a')), String(new Old('b')), new Old('b') instanceof TypeError, String(e)]`,
    ['a!', 'Mine', 'x', 'Old: b', true, 'Renamed: r'],
  ],
  [
    'classes as compilers write them',
    `${EXTENDS}
    function List() { const list = Reflect.construct(Array, [], List); return list } __extends(List, Array); List.prototype.push = function (x) { this[this.length] = x * 2; return this.length }
    function Failure() { const e = Reflect.construct(Error, ['m'], Failure); e.name = 'Failure'; return e } __extends(Failure, Error); Failure.prototype.toString = () => 'failed'
    function Later() {} __extends(Later, Promise); Later.prototype.then = function (f) { f('then') }
    function Table() {} __extends(Table, Map); Table.prototype.get = () => 'got'
    const list = new List(); list.push(2)
    return [list[0], list instanceof Array, list.constructor.name, String(new Failure()), await new Later(), new Table().get(1)]`,
    [4, true, 'List', 'failed', 'then', 'got'],
  ],
  [
    'own properties of any name',
    `const o = { constructor: 1, toString: 2, __proto__: { valueOf: 3 }, ...{ hasOwnProperty: 4 } }; const n = Object.create(null); n.constructor = n.toString = n.__proto__ = 5
    const plain = {}; plain.constructor = 6; plain.valueOf = 7; const list = []; list.concat = 8; const f = () => 0; f.call = 9; f.bind = 10; f.toString = () => 'f'
    return [o.constructor, o.toString, o.valueOf, o.hasOwnProperty, Object.keys(n), plain.constructor, Object.keys(plain), list.concat, f.call, f.bind, String(f), Object.assign({}, { constructor: 11 }).constructor]`,
    [1, 2, 3, 4, ['__proto__', 'toString', 'constructor'], 6, ['constructor', 'valueOf'], 8, 9, 10, 'f', 11],
  ],
  [
    'iterators and generators that are assigned',
    `const Iterators = Object.getPrototypeOf(Object.getPrototypeOf([].values())); const made = Object.create(Iterators)
    made.next = function () { return { done: (this.n = (this.n ?? 0) + 1) > 2, value: this.n } }; made[Symbol.iterator] = function () { return this }; made.map = 'mine'
    const running = (function* () { yield 1 })(); running.return = () => 'mine'
    return [[...made], made.map, running.return(), JSON.stringify({ toJSON() { return 'json' } })]`,
    [[1, 2], 'mine', 'mine', '"json"'],
  ],
  [
    'callers read from the stack',
    `const limit = Error.stackTraceLimit, prepare = Error.prepareStackTrace; Error.stackTraceLimit = 50; Error.prepareStackTrace = (_, sites) => sites
    const holder = {}; Error.captureStackTrace(holder); const found = typeof holder.stack[0].getFileName(); Error.stackTraceLimit = limit; Error.prepareStackTrace = prepare
    return [found, typeof new Error('x').stack]`,
    ['string', 'string'],
  ],
  [
    'globals that are added, or filled in where they lack',
    `globalThis.Promise = globalThis.Promise || 1; Object.hasOwn = Object.hasOwn || 1; String.prototype.at = String.prototype.at || 1; Array.prototype.flat ??= 1
    globalThis.Buffer = globalThis.Buffer || Buffer; globalThis.fetch ??= 1; globalThis.mine_only = 1; const own = globalThis.setTimeout; globalThis.setTimeout = (...given) => own(...given)
    return [await new Promise(resolve => setTimeout(resolve, 1, 'later')), mine_only, delete globalThis.mine_only]`,
    ['later', 1, true],
  ],
  [
    'how objects are shown',
    `const { inspect } = await load('node:util'); class A { b = 1 }; return inspect([{ a: 1 }, new A(), new Map([[1, [2]]]), Object.create(null), new (class B extends Error {})('m').name])`,
    "[\n  { a: 1 },\n  A { b: 1 },\n  Map(1) { 1 => [ 2 ] },\n  [Object: null prototype] {},\n  'Error'\n]",
  ],
]

test('well-behaved code goes on as if nothing were closed', async () => {
  for (const [what, statements, value] of WELL_BEHAVED) {
    const { error, lost, ...answer } = await does(statements)
    assert.deepEqual([what, error, lost, answer.value], [what, undefined, null, value])
  }
})

const LIBRARIES: [name: string, use: string, value: unknown][] = [
  ['acorn', 'return m.parse("let a = 1", { ecmaVersion: 2022 }).body[0].kind', 'let'],
  [
    'hdr-histogram-js',
    'const h = m.build(); for (let n = 1; n <= 100; n++) h.recordValue(n); return h.maxNonZero ?? h.maxValue',
    100,
  ],
  ['msgpackr', 'return m.unpack(m.pack({ a: [1, new Map([[1, 2]])] })).a[0]', 1],
  [
    'commander',
    'return new m.Command().exitOverride().option("-a <n>").parse(["-a", "3"], { from: "user" }).opts().a',
    '3',
  ],
  [
    'fast-check',
    'm.assert(m.property(m.array(m.integer()), list => list.slice().reverse().length === list.length)); return 1',
    1,
  ],
  ['jose', 'return m.base64url.encode("ab")', 'YWI'],
  ['better-sqlite3', 'return new m.default(":memory:").prepare("SELECT 1 AS one").get().one', 1],
  ['piscina', 'return typeof m.Piscina', 'function'],
  ['node:domain', 'return typeof m.create', 'function'],
]

test('libraries load and work, old style and new', async () => {
  for (const [name, use, value] of LIBRARIES) {
    const { error, lost, ...answer } = await does(`const m = await load(${JSON.stringify(name)}); ${use}`)
    assert.deepEqual([name, error, lost, answer.value], [name, undefined, null, value])
  }
})
