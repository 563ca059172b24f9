import { readFileSync } from 'node:fs'

/** Linux counts in hundredths of a second. */
const TICKS_PER_SECOND = 100

/** Seconds of processor time that the main thread of this process has taken. */
export function mainThreadCpu(): number {
  const stat = readFileSync(`/proc/self/task/${process.pid}/stat`, 'latin1')
  // Behind the name, which may hold anything: state is the first, utime and stime the twelfth and thirteenth.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}
