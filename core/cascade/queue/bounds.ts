import { limits } from '../../../protocol/limits.ts'

/** Bounds of what waits in a flow. */
export interface Bounds {
  items: number
  bytes: number
  /** What a flow's own work may reach: so many times the bound. */
  hard_factor: number
}

export const flowBounds: Bounds = {
  items: limits.FLOW_WAITING_ITEMS,
  bytes: limits.FLOW_WAITING_BYTES,
  hard_factor: limits.FLOW_WAITING_HARD_FACTOR,
}
