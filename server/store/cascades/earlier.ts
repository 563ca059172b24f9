/**
 * The parent of a cascade as a number and a time. A rerun has the epoch of the engine that ran it first in place of the time; a
 * child that ran after a restart has `EARLIER` and the epoch of its parent's engine. Both are far before any start of a cascade.
 */
export const EARLIER = 2 ** 24

/** A start of a cascade of engine `epoch`, as a later engine names it; what names an epoch already stays. */
export const asEarlier = (parent_ts: number, epoch: number): number =>
  parent_ts < 2 * EARLIER ? parent_ts : EARLIER + epoch
