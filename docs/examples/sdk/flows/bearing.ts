import { Flow, use } from 'flow-engine/sdk'
import { alarm } from '../nodes/alarm.ts'
import { figures } from '../nodes/figures.ts'

export default Flow('bearing', [
  figures,
  use(alarm, { id: 'shaking', wire: { level: 'rms', alarm: 'shakes' }, raise_at: 2, clear_at: 1.5 }),
  use(alarm, { id: 'striking', wire: { level: 'kurtosis', alarm: 'strikes' }, raise_at: 6, clear_at: 4 }),
])
