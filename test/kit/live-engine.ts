import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type LiveBounds, liveBounds } from '../../server/calls/bounds.ts'
import type { Engine } from '../../server/engine.ts'
import { type Served, serve } from '../../server/main.ts'

export interface LiveEngine {
  engine: Engine
  url: string
  data_dir: string
  /** Ends the engine in order. */
  close(): Promise<void>
  /** Ends the engine in order and starts another one on the same data directory. */
  restart(): Promise<LiveEngine>
}

/** Whoever ends what was started: a test, or a file. */
interface Ending {
  after(end: () => Promise<void>): void
}

/** The whole engine in this process on a fresh data directory, as `svc serve` starts it; it ends with the test. */
export async function liveEngine(
  t: Ending,
  environment: Record<string, string> = {},
  bounds: Partial<LiveBounds> = {},
  wall_ms?: () => number,
): Promise<LiveEngine> {
  const data_dir = mkdtempSync(join(tmpdir(), 'live-engine-'))
  let last: Served | null = null
  t.after(async () => {
    await last?.close()
    rmSync(data_dir, { recursive: true, force: true })
  })
  const start = async (): Promise<LiveEngine> => {
    const { engine, served } = await startIn(data_dir, environment, bounds, wall_ms)
    last = served
    const close = async (): Promise<void> => {
      last = null
      await served.close()
    }
    return {
      engine,
      url: served.url,
      data_dir,
      close,
      restart: async () => {
        await close()
        return start()
      },
    }
  }
  return start()
}

/** One engine for the stories of a file that do not disturb each other; it is there when the first of them begins. */
export function sharedEngine(
  environment: Record<string, string> = {},
  bounds: Partial<LiveBounds> = {},
  wall_ms?: () => number,
): LiveEngine {
  const shared = {} as LiveEngine
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    Object.assign(shared, await liveEngine({ after: end => ends.push(end) }, environment, bounds, wall_ms))
  })
  after(async () => {
    for (const end of ends) await end()
  })
  return shared
}

async function startIn(
  data_dir: string,
  environment: Record<string, string>,
  bounds: Partial<LiveBounds>,
  wall_ms?: () => number,
) {
  const { startEngine } = await import('../../server/build.ts')
  let engine: Engine | null = null
  const served = await serve({
    argv: ['--plain', '--port', '0', '--data-dir', data_dir],
    environment,
    cwd: data_dir,
    ...(wall_ms === undefined ? {} : { wall_ms }),
    loadEngine: async () => async options => {
      const running = await startEngine({ ...options, bounds: { ...liveBounds, ...bounds } })
      engine = running.engine
      return running
    },
  })
  return { engine: engine!, served }
}

/** Looks until it is true; far more patient than any working engine needs. */
export async function eventually(isTrue: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const given_up_ms = performance.now() + 30_000
  while (!(await isTrue())) {
    if (performance.now() > given_up_ms) throw new RangeError(`waited in vain: ${what}`)
    await sleep(5)
  }
}
