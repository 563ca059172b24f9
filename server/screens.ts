import { limits } from '../protocol/limits.ts'
import type { Tokens } from './auth/tokens.ts'
import type { LiveEngine } from './live-engine.ts'
import { PanelSockets } from './panels/panel-sockets.ts'
import { Panels } from './panels/panels.ts'

interface ScreensParts {
  readonly engine: LiveEngine
  readonly tokens: Tokens
  /** Milliseconds of a clock that never jumps. */
  steady_ms(): number
  onDefect(error: unknown): void
}

/** The panels and the sockets of their screens, told of what changes: dashboards, flows, the panels themselves. */
export async function openScreens({ engine, tokens, steady_ms, onDefect }: ScreensParts) {
  const { dashboards, locks, shown_media } = engine
  const panels = await Panels.open({
    records: engine.store.records,
    dashboards,
    now: {
      isClosed: lock => locks.isClosed(lock),
      wasShown: (digest, messages) => shown_media.wasShown(digest, messages),
    },
    mint: (panel, nonce) => tokens.mint('panel', panel, nonce, limits.PANEL_TOKEN_LIFETIME_S),
    now_us: engine.front.clock.now_us,
    steady_ms,
  })
  const panel_sockets = new PanelSockets({
    fanout: engine.fanout,
    directory: engine.map,
    troubleOf: name => engine.sourceTrouble(name),
    own: id => panels.own(id),
    onDefect,
  })
  panels.attach(id => panel_sockets.connected(id))
  panels.onScope(changes => {
    shown_media.watch(panels.media)
    panel_sockets.panelsChanged(changes.map(({ panel }) => panel))
  })
  engine.onFlowChanged(flow => panel_sockets.flowChanged(flow))
  shown_media.watch(panels.media)
  return { dashboards, panels, panel_sockets }
}
