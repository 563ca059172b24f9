import { node } from 'flow-engine/sdk'

/** Raised above one level, cleared below a lower one, and silent in between. */
export const alarm = node(
  {
    inputs: { level: 'float' },
    outputs: { alarm: 'bool' },
    settings: { raise_at: 1, clear_at: 0.5 },
  },
  ({ level }, ctx) => {
    const { raise_at, clear_at } = ctx.settings
    const raised = ctx.state.raised === true
    if (raised ? level >= clear_at : level <= raise_at) return
    ctx.state.raised = !raised
    return { alarm: !raised }
  },
)
