import type { DashboardDocument } from '../nouns/dashboard.ts'
import { compareKeyed, compareValues, type Difference } from '../values/differences.ts'

/** How two documents differ. Tiles are matched by id. */
export function dashboardDiff(before: DashboardDocument | null, after: DashboardDocument | null): Difference[] {
  if (before === null || after === null)
    return before === after ? [] : [{ path: '', ...(before ? { before } : {}), ...(after ? { after } : {}) }]
  const found: Difference[] = []
  compareValues('/locked', before.locked, after.locked, found)
  compareKeyed('/tiles', before.tiles, after.tiles, tile => tile.id, found)
  return found
}
