import { limits } from '../../../protocol/limits.ts'

/** Bounds of what waits in a flow. */
export interface Bounds {
  items: number
  bytes: number
  /** The hard bound for a flow's own work, as a multiple of the bound. */
  hard_factor: number
}

export const flowBounds: Bounds = {
  items: limits.FLOW_WAITING_ITEMS,
  bytes: limits.FLOW_WAITING_BYTES,
  hard_factor: limits.FLOW_WAITING_HARD_FACTOR,
}
