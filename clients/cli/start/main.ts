// The program of `svc`. `svc serve` forks its engine before anything else is loaded; every other command goes through commander.
const [command, ...rest] = process.argv.slice(2)

if (command === 'serve' && !rest.includes('--help') && !rest.includes('-h')) {
  const { Supervisor } = await import('./supervisor.ts')
  process.exitCode = await Supervisor.run({ argv: rest, entry: new URL('./engine-process.ts', import.meta.url) })
  process.exit()
} else {
  const { runCommand } = await import('../program.ts')
  process.exitCode = await runCommand(process.argv.slice(2))
}
