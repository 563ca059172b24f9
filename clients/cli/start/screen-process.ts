import { basename, dirname } from 'node:path'
import { EXIT } from '../../../protocol/settings.ts'
import { showDashboard } from '../../terminal/dashboard.ts'
import { lookOf } from '../../terminal/device/look.ts'
import { findEngine } from '../find-engine.ts'
import type { ToScreen } from './serve-screen.ts'

// The program of the dashboard process: what `svc serve` forks on a terminal.
const [data_dir = ''] = process.argv.slice(2)

process.on('SIGINT', () => process.exit(EXIT.interrupted))
// The supervisor has gone.
process.on('disconnect', () => process.exit(EXIT.failed))

const notes: string[] = []
let note = (text: string): void => void notes.push(text)
process.on('message', (message: ToScreen) => {
  if (message.type === 'note') note(message.text)
  else show(message).catch(fail)
})

/** The engine of this installation, whatever the variables for other commands name. */
const find = () => findEngine({ dataDir: data_dir, environment: {}, cwd: process.cwd() })

async function show({ lines, has_password }: Extract<ToScreen, { type: 'greeting' }>): Promise<void> {
  const how = await showDashboard({
    find,
    name: basename(data_dir) === '.svc' ? basename(dirname(data_dir)) : basename(data_dir),
    input: process.stdin,
    output: process.stdout,
    look: lookOf(process.env),
    greeting: has_password ? { title: 'the engine has started for the first time', lines, top: 0 } : null,
    followNotes: listener => {
      note = listener
      for (const text of notes) note(text)
    },
  })
  process.exit(how === 'left' ? EXIT.ok : EXIT.interrupted)
}

function fail(error: unknown): void {
  process.stderr.write(`svc: the dashboard failed: ${error instanceof Error ? error.message : error}\n`)
  process.exit(EXIT.failed)
}
