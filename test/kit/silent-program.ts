import { Interrupts } from '../../clients/cli/interrupts.ts'
import { Output } from '../../clients/cli/output/output.ts'
import { createProgram } from '../../clients/cli/program.ts'
import { ROOT } from './sources.ts'

const sink = { write: () => true }

/** The command line, of which nothing is printed: to look at its commands. */
export const silentProgram = () =>
  createProgram({
    argv: [],
    output: new Output(sink, sink, {}),
    environment: {},
    cwd: ROOT,
    stdin: process.stdin,
    interrupts: new Interrupts(),
  })
