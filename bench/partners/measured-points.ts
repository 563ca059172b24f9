import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What the contestants of `history` write: 100 messages, and the values of a real sensor. */

export const MESSAGES = 100

const SERIES = 'docs/examples/machine/data/machine_temperature_system_failure.csv'

export function temperatures(): Float64Array {
  const lines = readFileSync(join(import.meta.dirname, '..', '..', SERIES), 'utf8')
    .trim()
    .split('\n')
  return Float64Array.from(lines.slice(1), line => Number(line.slice(line.indexOf(',') + 1)))
}
