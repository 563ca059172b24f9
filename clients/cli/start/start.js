// What the launcher runs. JavaScript, because it is there before types are stripped: it lets this process, the processes that
// it forks and their threads load their modules quickly (quick-loading.js), then runs main.ts.
import { fileURLToPath } from 'node:url'
import './quick-loading.js'

// Forked processes take their flags from here, and threads from the process that they are in. Not --import, which a thread
// without a file of its own does not run.
process.execArgv.push('--require', fileURLToPath(new URL('./quick-loading.js', import.meta.url)))

await import('./main.ts')
