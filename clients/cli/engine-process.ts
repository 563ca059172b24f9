import { engineProcess } from './engine-run.ts'

// The program of the engine process: what `svc serve` forks. All of it is in engine-run.ts.
await engineProcess(async () => (await import('../../server/main.ts')).serve)
