/** Atomics as the algorithms of shared memory call them. Production calls the intrinsics; the interleaving search puts a scheduler in their place (`#atomics`). */
export const { load, store, add, sub, and, or, exchange, compareExchange, notify, wait, waitAsync } = Atomics
