import { Supervisor } from '../../clients/cli/start/supervisor.ts'

// `svc serve` around a fake engine. RESTART_AFTER_MS shortens the waits between restarts.
const entry = new URL('./engine-fake-process.ts', import.meta.url)
const restart_after_ms = process.env['RESTART_AFTER_MS']
process.exit(
  await Supervisor.run({
    argv: process.argv.slice(2),
    entry,
    ...(restart_after_ms ? { restart_after_ms: Number(restart_after_ms) } : {}),
  }),
)
