import { EngineDouble } from '../kit/engine-double.ts'
import { sharedEngine } from '../kit/live-engine.ts'
import { runStories } from './runs.ts'

const double = new EngineDouble()
const live = sharedEngine({ FLOW_MAX_RUNS: '1' }, { call_grace_ms: 50 })

runStories('the double', () => double)
runStories('the store', () => live.engine)
