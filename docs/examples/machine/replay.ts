import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

interface Context {
  settings: {
    /** `timestamp,value` lines under a heading. */
    file: string
    /** Readings a second; 0 is as fast as the flow takes them. */
    speed: number
    /** Start again at the end of the series? */
    repeat: boolean
  }
  /** The reading that comes next: after a restart of the engine the replay goes on from there. */
  state: { next?: number }
  signal: AbortSignal
}

/** Replays a recorded series, one emission a reading. */
export default function replay(_inputs: { started: boolean }, ctx: Context) {
  const temperatures = readFileSync(ctx.settings.file, 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map(line => Number(line.slice(line.indexOf(',') + 1)))
  return ctx.settings.speed > 0 ? paced(temperatures, ctx) : atOnce(temperatures, ctx)
}

function* atOnce(temperatures: number[], ctx: Context) {
  do {
    for (let reading = ctx.state.next ?? 0; reading < temperatures.length; reading++) {
      ctx.state.next = reading + 1
      yield { temperature: temperatures[reading], reading }
    }
    ctx.state.next = 0
  } while (ctx.settings.repeat)
}

/** Due times are counted from the first reading, so that a late wake-up is made good and the speed holds. */
async function* paced(temperatures: number[], ctx: Context) {
  const began_ms = performance.now()
  let sent = 0
  for (const emission of atOnce(temperatures, ctx)) {
    const early_ms = began_ms + (sent++ * 1000) / ctx.settings.speed - performance.now()
    if (early_ms > 0) await sleep(early_ms, undefined, { signal: ctx.signal }).catch(() => {})
    if (ctx.signal.aborted) return
    yield emission
  }
}
