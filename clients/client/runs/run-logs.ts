import type { LogLevel, RunLogLine, RunLogPage } from '../../../protocol/nouns/run-log.ts'
import { LOG_LEVELS } from '../../../protocol/words/log-level.ts'
import type { Address } from '../socket.ts'

/** Which lines of a run are meant. */
export interface LogSelection {
  /** Lines behind this one: `seq` of the last that you have. */
  after?: number
  /** Of this node alone, by its id. */
  node?: string
  /** At least this level. */
  level?: LogLevel
}

export type LogPages = (selection: LogSelection) => Promise<RunLogPage>

/** Lines that are there now, page by page. */
export async function* readLog(
  page: LogPages,
  selection: LogSelection,
): AsyncGenerator<RunLogLine, number | null, undefined> {
  for (let after = selection.after ?? 0; ; ) {
    const { items, next_after } = await page({ ...selection, after })
    yield* items
    if (next_after === null || next_after === after) return next_after
    after = next_after
  }
}

/**
 * Lines as they are stored, each once, until the run has ended: by the flows websocket, which goes on behind the last line that came when it
 * was lost and is there again.
 */
export async function* followLog(
  page: LogPages,
  address: Address,
  id: string,
  selection: LogSelection,
  signal?: AbortSignal,
): AsyncGenerator<RunLogLine, void, undefined> {
  // Here a run that is not there is refused, and what is there is chosen by the engine.
  let after = yield* readLog(page, selection)
  if (after === null) return
  const { follow } = await import('../live/follow.ts')
  const pages: RunLogPage[] = []
  const followed = follow(
    wake => ({
      find: () => address,
      log: () => ({ run: id, after: after ?? 0 }),
      onLog: frame => {
        pages.push(frame)
        after = frame.next_after ?? after
        wake()
      },
    }),
    () => pages.shift(),
    signal,
  )
  for await (const { items, next_after } of followed) {
    for (const line of items) if (isChosen(line, selection)) yield line
    if (next_after === null) return
  }
}

const isChosen = (line: RunLogLine, { node = line.node, level = 'debug' }: LogSelection): boolean =>
  line.node === node && LOG_LEVELS.indexOf(line.level) >= LOG_LEVELS.indexOf(level)
