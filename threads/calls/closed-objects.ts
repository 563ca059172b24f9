/** An object whose properties are looked at by key, a function included. */
export type Holder = Record<PropertyKey, unknown>

export interface ClosedObject {
  readonly name: string
  /** Properties that stay writable. */
  readonly open: ReadonlySet<PropertyKey>
  /** It stays as V8 made it: none of its properties becomes an accessor. */
  readonly isPlain: boolean
}

/**
 * Nothing can be added to the object from now on, and nothing of it replaced.
 *
 * Its methods become accessors. A plain property that cannot be written is one that cannot be assigned on whatever inherits it
 * either (the language's "override mistake"), and `Sub.prototype.toString = ...`, `error.name = 'Mine'` are everywhere; so is
 * `Object.hasOwn = Object.hasOwn || ...`, which changes nothing and is let pass.
 */
export function closeObject(holder: Holder, { name, open, isPlain }: ClosedObject): void {
  for (const key of Reflect.ownKeys(holder)) {
    const was = Object.getOwnPropertyDescriptor(holder, key)!
    if (open.has(key) || !was.configurable || !('value' in was)) continue
    // `constructor` stays a plain property: V8 and `util.inspect` look for one.
    if (!isPlain && typeof key === 'string' && key !== 'constructor') overridable(holder, name, key, was)
    else if (open.size > 0) Object.defineProperty(holder, key, { writable: false, configurable: false })
  }
  // Sealed where something stays writable; if Array.prototype were frozen, every array with holes would be read the slow way.
  if (open.size > 0) Object.seal(holder)
  else Object.freeze(holder)
  settle(holder)
}

function overridable(holder: Holder, name: string, key: string, { value, enumerable }: PropertyDescriptor): void {
  Object.defineProperty(holder, key, {
    get: () => value,
    set(this: unknown, own: unknown) {
      if (this !== holder)
        Object.defineProperty(this, key, { value: own, writable: true, enumerable: true, configurable: true })
      else if (own !== value) throw new TypeError(`${name}.${key} ${CLOSED}`)
    },
    enumerable: enumerable ?? false,
    configurable: false,
  })
}

const CLOSED =
  'is shared by all bodies of this thread and cannot be replaced. Give the node isolation: "process" to have built-ins of its own.'

/**
 * V8 keeps an object that was redefined so often as a table, until it is looked through as a prototype: from then on its
 * properties are as quick to read as before (measured: `Math.floor` takes ten times as long without).
 */
function settle(holder: Holder): unknown {
  return Object.create(holder).missing
}
