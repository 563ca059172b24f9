import { fileURLToPath } from 'node:url'
import { limits } from '../../../protocol/limits.ts'
import { engineProcess } from './engine-run.ts'

// Files that the engine writes are private to its user, even in a folder that is not.
process.umask(0o077)

// The program of the engine process: what `svc serve` forks. All of it is in engine-run.ts.
await engineProcess(async () => (await import('../../../server/main.ts')).serve)

// The engine answers already, so this does not delay the start.
const { boundModuleCache } = await import('./module-cache.ts')
await boundModuleCache(
  fileURLToPath(new URL('../../../node_modules/.cache/svc', import.meta.url)),
  limits.MODULE_CACHE_BYTES,
)
