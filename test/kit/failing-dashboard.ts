import { TerminalGuard } from '../../clients/terminal/device/guard.ts'

// Holds the terminal and then fails, as the word says: `throw`, or `reject`.
const guard = new TerminalGuard({
  input: process.stdin,
  output: process.stdout,
  lastWords: () => ['the last words'],
  onBack: () => {},
})
guard.hold()
process.stdout.write('held')
process.stdin.resume()
setTimeout(() => {
  if (process.argv[2] === 'throw') throw new RangeError('a defect of the dashboard')
  Promise.reject(new RangeError('a defect of the dashboard'))
}, 300)
