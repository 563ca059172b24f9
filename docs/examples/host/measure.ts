import { cpus, freemem, loadavg, totalmem } from 'node:os'

interface Context {
  /** Milliseconds of processor time since the machine started, as last seen. */
  state: { busy_ms?: number; all_ms?: number }
}

/** The load of the machine that runs the engine. Shares are 0..1; `load` is the mean of the last minute, as `uptime` shows it. */
export default function measure(_inputs: { ticked: boolean }, ctx: Context) {
  let busy_ms = 0
  let all_ms = 0
  for (const { times } of cpus()) {
    const working_ms = times.user + times.nice + times.sys + times.irq
    busy_ms += working_ms
    all_ms += working_ms + times.idle
  }
  const passed_ms = all_ms - (ctx.state.all_ms ?? all_ms)
  const worked_ms = busy_ms - (ctx.state.busy_ms ?? busy_ms)
  Object.assign(ctx.state, { busy_ms, all_ms })
  return {
    load: loadavg()[0],
    memory_used_share: 1 - freemem() / totalmem(),
    // The first tick has nothing to compare with, nor has the one after a restart of the machine.
    ...(passed_ms > 0 && { cpu_used_share: Math.max(0, worked_ms / passed_ms) }),
  }
}
