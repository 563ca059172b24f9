import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from '../../server/engine.ts'
import { serve } from '../../server/main.ts'

export interface LiveEngine {
  engine: Engine
  url: string
  data_dir: string
}

/** The whole engine in this process on a fresh data directory, as `svc serve` starts it; it ends with the test. */
export async function liveEngine(t: TestContext, environment: Record<string, string> = {}): Promise<LiveEngine> {
  const data_dir = mkdtempSync(join(tmpdir(), 'live-engine-'))
  const { startEngine } = await import('../../server/build.ts')
  let engine: Engine | null = null
  const served = await serve({
    argv: ['--plain', '--port', '0', '--data-dir', data_dir],
    environment,
    cwd: data_dir,
    loadEngine: async () => async options => {
      const running = await startEngine(options)
      engine = running.engine
      return running
    },
  })
  t.after(async () => {
    await served.close()
    rmSync(data_dir, { recursive: true, force: true })
  })
  return { engine: engine!, url: served.url, data_dir }
}

/** Looks until it is true; far more patient than any working engine needs. */
export async function eventually(isTrue: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const given_up_ms = performance.now() + 30_000
  while (!(await isTrue())) {
    if (performance.now() > given_up_ms) throw new RangeError(`waited in vain: ${what}`)
    await sleep(5)
  }
}
