/**
 * Atomics as the algorithms of shared memory call them. Production calls the intrinsics; the interleaving search puts a
 * scheduler in their place (`#atomics`).
 *
 * An intrinsic costs about 10 ns in V8 (a builtin call, and a full barrier for stores), a plain access about 1 ns. x64
 * keeps stores in order and loads in order by itself: only a load may pass an earlier store of its own thread, and V8
 * does not move accesses to typed arrays past each other. So on x64 the four one-way orders below are plain accesses.
 * arm64 keeps no order without asking; there they are intrinsics.
 */
export const { load, store, add, sub, and, or, exchange, compareExchange, notify, wait, waitAsync } = Atomics

const ordered = process.arch === 'x64'

/** A load that no later access of this thread passes: what the writer stored before its `release` is seen after it. */
export const acquire: (array: Int32Array, index: number) => number = ordered ? (array, index) => array[index]! : load

/** A store that no earlier access of this thread passes: it shows only after everything that was written before it. */
export const release: (array: Int32Array, index: number, value: number) => unknown = ordered
  ? (array, index, value) => {
      array[index] = value
    }
  : store

/**
 * The second look of an optimistic read: a load that no earlier read of this thread is reordered after. An acquire load does not
 * give that on arm64 (it only holds later accesses back), so there it is a read-modify-write that changes nothing: its
 * store half comes after every earlier read, and it succeeds only when the word still is what its load half saw.
 */
export const recheck: (array: Int32Array, index: number) => number = ordered
  ? (array, index) => array[index]!
  : (array, index) => or(array, index, 0)

/**
 * A store that no later write of this thread passes: "I am about to overwrite". On arm64 a store-release lets later
 * stores go first, but no load-acquire passes it and nothing passes a load-acquire, so the pair does it.
 */
export const announce: (array: Int32Array, index: number, value: number) => unknown = ordered
  ? (array, index, value) => {
      array[index] = value
    }
  : (array, index, value) => {
      store(array, index, value)
      load(array, index)
    }

/**
 * How often a lock that is held is looked at before its next holder goes to sleep: microseconds, as long as a sleep and the
 * wake-up of it cost both sides. A word is held for less, unless its holder lost its processor.
 */
export const SPINS = 4096

/** One turn of a spin. The search takes it as a wish to let the other thread run. */
export const pause = (): void => {}
