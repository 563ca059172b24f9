import { fileURLToPath } from 'node:url'
import { limits } from '../../../protocol/limits.ts'
import { engineProcess } from './engine-run.ts'

// Everything that the engine writes is for the user who runs it alone, also where the folder is not.
process.umask(0o077)

// The program of the engine process: what `svc serve` forks. All of it is in engine-run.ts.
await engineProcess(async () => (await import('../../../server/main.ts')).serve)

// It answers by now, so this costs the start nothing.
const { boundModuleCache } = await import('./module-cache.ts')
await boundModuleCache(
  fileURLToPath(new URL('../../../node_modules/.cache/svc', import.meta.url)),
  limits.MODULE_CACHE_BYTES,
)
