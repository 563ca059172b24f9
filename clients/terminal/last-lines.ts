import { fit, padEnd, printable } from '../cli/output/text.ts'
import { clock } from './draw/figures.ts'
import type { Size } from './draw/screen.ts'
import type { EngineState } from './state/engine-state.ts'
import { logText } from './state/log-text.ts'

const LINES = 5

/** What is to be read on the first screen when the dashboard has gone: the newest lines of the log. */
export const lastLines = ({ log }: EngineState, { columns }: Size): string[] =>
  log.slice(-LINES).map(event => {
    const { level, source, text } = logText(event)
    return fit(printable(`${clock(Date.parse(event.ts))} ${padEnd(level, 5)} ${source}  ${text}`), columns)
  })
