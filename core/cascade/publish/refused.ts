/** Why a publish was refused: nothing changed and no version was used. */
export const REFUSED = {
  /** A flow downstream has reached its bound. */
  backlogged: -1,
  /** No slab for the value. */
  arena_full: -2,
  /** No segment for the item. */
  queue_full: -3,
  /** The store is behind. */
  journal_full: -4,
  /** A publisher holds one of the flows for longer than the patience: it died and is not recovered yet. */
  held: -5,
} as const
