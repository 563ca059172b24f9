import type { Holder } from './closed-objects.ts'

/**
 * What Node puts beside the language: globals such as `fetch` and `setTimeout`, the functions of `process` and `console`, the
 * environment. Libraries replace them for good reasons, so a body may; it has what it put there until its call ends.
 */
export class HostGlobals {
  /** What was replaced since it was put back last. */
  readonly #replaced: Place[] = []
  /** Names of variables that were changed since, each with what it was; undefined: there was none. */
  readonly #changed: string[] = []
  readonly #variables = new Map<string, string | undefined>()
  readonly #environment: NodeJS.ProcessEnv
  readonly #listeners: readonly { readonly event: HostEvent; readonly ours: readonly Listener[] }[]

  /** `language`: names on the global object that are none of Node's. */
  constructor(language: ReadonlySet<string>) {
    this.#environment = process.env
    process.env = this.#watchedEnvironment()
    for (const key of Object.getOwnPropertyNames(globalThis)) {
      if (!language.has(key) && !LOADED_LATE.has(key)) this.#watch(globalThis as unknown as Holder, key)
    }
    for (const holder of [process, console] as unknown as Holder[]) {
      for (const key of Object.getOwnPropertyNames(holder)) if (isFunction(holder, key)) this.#watch(holder, key)
    }
    for (const key of EMITTER) this.#watch(process as unknown as Holder, key)
    this.#watch(process as unknown as Holder, 'env')
    this.#listeners = HOST_EVENTS.map(event => ({
      event,
      ours: process.listeners(event as never) as unknown as Listener[],
    }))
  }

  /** Takes what the environment holds now for what it holds. */
  keepEnvironment(): void {
    this.#changed.length = 0
    this.#variables.clear()
  }

  /** What was noted. Costs next to nothing. */
  undo(): void {
    for (let at = 0; at < this.#replaced.length; at++) this.#replaced[at]!.isReplaced = false
    this.#replaced.length = 0
    for (let at = 0; at < this.#changed.length; at++) {
      const name = this.#changed[at]!
      const was = this.#variables.get(name)
      if (was === undefined) delete this.#environment[name]
      else this.#environment[name] = was
    }
    if (this.#changed.length > 0) this.keepEnvironment()
  }

  /** And what has to be looked for. */
  restore(): void {
    this.undo()
    for (let at = 0; at < this.#listeners.length; at++) {
      const { event, ours } = this.#listeners[at]!
      if (process.listenerCount(event) !== ours.length) this.#putBack(event, ours)
    }
    if (process.hasUncaughtExceptionCaptureCallback()) process.setUncaughtExceptionCaptureCallback(null)
  }

  #putBack(event: HostEvent, ours: readonly Listener[]): void {
    process.removeAllListeners(event)
    for (let at = 0; at < ours.length; at++) process.on(event as never, ours[at] as never)
  }

  #watch(holder: Holder, key: string): void {
    const { value, get, enumerable, configurable } =
      Object.getOwnPropertyDescriptor(holder, key) ?? inherited(holder, key)
    if (configurable === false) return
    const place: Place = { value: undefined, isReplaced: false }
    const replaced = this.#replaced
    Object.defineProperty(holder, key, {
      get: () => (place.isReplaced ? place.value : get ? get.call(holder) : value),
      set(this: unknown, own: unknown) {
        if (this !== holder) {
          Object.defineProperty(this, key, { value: own, writable: true, enumerable: true, configurable: true })
          return
        }
        place.value = own
        if (!place.isReplaced) replaced[replaced.length] = place
        place.isReplaced = true
      },
      enumerable: enumerable ?? false,
      configurable: false,
    })
  }

  #watchedEnvironment(): NodeJS.ProcessEnv {
    const changes = (name: PropertyKey): void => {
      if (typeof name !== 'string' || this.#variables.has(name)) return
      this.#changed[this.#changed.length] = name
      this.#variables.set(name, this.#environment[name])
    }
    return new Proxy(this.#environment, {
      set(environment, name, value) {
        changes(name)
        return Reflect.set(environment, name, value)
      },
      defineProperty(environment, name, descriptor) {
        changes(name)
        return Reflect.defineProperty(environment, name, descriptor)
      },
      deleteProperty(environment, name) {
        changes(name)
        return Reflect.deleteProperty(environment, name)
      },
    })
  }
}

interface Place {
  value: unknown
  isReplaced: boolean
}

type Listener = (...given: unknown[]) => void
type HostEvent = (typeof HOST_EVENTS)[number]
/** With a listener of its own on these a body would hear, and hush up, what others throw. */
const HOST_EVENTS = ['uncaughtException', 'unhandledRejection'] as const

const EMITTER = [
  'emit',
  'on',
  'once',
  'off',
  'addListener',
  'removeListener',
  'removeAllListeners',
  'listeners',
  'listenerCount',
]

/** To look at one of these loads them all, which takes as long as the rest of a thread's start; what replaces them stays. */
const LOADED_LATE = new Set([
  'FormData',
  'Headers',
  'Request',
  'Response',
  'MessageEvent',
  'WebSocket',
  'EventSource',
  'CloseEvent',
])

const isFunction = (holder: Holder, key: string): boolean =>
  typeof Object.getOwnPropertyDescriptor(holder, key)?.value === 'function'

const inherited = (holder: Holder, key: string): PropertyDescriptor => ({ value: holder[key], configurable: true })
