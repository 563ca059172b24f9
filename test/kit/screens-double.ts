import type { Tokens } from '../../server/auth/tokens.ts'
import { Dashboards } from '../../server/dashboards/dashboards.ts'
import { Locks } from '../../server/dashboards/locks.ts'
import { Panels } from '../../server/panels/panels.ts'
import type { ReachNow } from '../../server/panels/reach.ts'
import { RecordsDouble } from './records-double.ts'

interface Given {
  readonly records?: RecordsDouble
  readonly messages?: { get(name: string): unknown }
  readonly now?: ReachNow
  readonly announced?: Record<string, unknown>[]
  mint?(panel: string, nonce: string): Promise<string>
  now_ms(): number
}

/** Dashboards and panels without an engine: there are no messages, so locks are closed. */
export async function screens(
  given: Given,
): Promise<{ dashboards: Dashboards; panels: Panels; records: RecordsDouble }> {
  const { records = new RecordsDouble(), now_ms, announced = [] } = given
  const now_us = (): number => now_ms() * 1000
  const dashboards = new Dashboards({
    records,
    locks: new Locks({
      directory: { indexOf: () => -1 },
      values: { version: () => 0, read: () => false },
      decoder: { decode: () => null },
    }),
    messages: given.messages ?? { get: () => undefined },
    flows: { find: () => undefined },
    announce: (type, flow, more) => announced.push({ type, flow, ...more }),
    now_us,
  })
  await dashboards.load()
  const panels = await Panels.open({
    records,
    dashboards,
    now: given.now ?? { isClosed: () => true, wasShown: () => false },
    mint: given.mint ?? (async (panel, nonce) => `${panel} ${nonce}`),
    now_us,
    steady_ms: now_ms,
  })
  return { dashboards, panels, records }
}

export const mintPanel =
  (tokens: Tokens) =>
  (panel: string, nonce: string): Promise<string> =>
    tokens.mint('panel', panel, nonce, 3600)
