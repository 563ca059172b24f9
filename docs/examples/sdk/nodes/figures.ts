import { node } from 'flow-engine/sdk'
import { figuresOf } from '../signals/vibration.ts'

/** Of each window of samples its figures, one emission a window. */
export const figures = node(
  {
    inputs: { samples: 'json' },
    outputs: { rms: 'float', kurtosis: 'float' },
    settings: { window: 256 },
  },
  function* ({ samples }, ctx) {
    const { window } = ctx.settings
    const all = samples as number[]
    for (let start = 0; start + window <= all.length; start += window) {
      const { rms, kurtosis } = figuresOf(all.slice(start, start + window))
      ctx.metric('rms', rms)
      yield { rms, kurtosis }
    }
  },
)
