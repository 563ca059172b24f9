import { engineProcess } from '../../clients/cli/start/engine-run.ts'
import { serve } from '../../server/main.ts'
import { startFake } from './engine-fake.ts'

// The engine process around a fake engine.
await engineProcess(async () => options => serve({ ...options, loadEngine: async () => startFake }))
