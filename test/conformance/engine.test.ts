import { EngineDouble } from '../kit/engine-double.ts'
import { liveEngine } from '../kit/live-engine.ts'
import { engineStories } from './engine.ts'

engineStories('the double', async () => new EngineDouble())
engineStories('the engine', async t => (await liveEngine(t)).engine)
