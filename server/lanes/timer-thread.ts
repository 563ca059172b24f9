import { SLOT } from '../../core/memory/threads.ts'
import type { FromTimer, TimerTask, ToTimer } from '../../threads/timer/messages.ts'
import { SupervisedThread, type SupervisedThreadParts } from './supervised-thread.ts'

export interface TimerThreadParts extends Pick<SupervisedThreadParts<never>, 'front' | 'log' | 'announce' | 'onFatal'> {
  readonly timezone: string
  readonly degraded_after_ms: number
  /** Another thread has taken its place; it knows nothing yet. */
  replaced(): void
}

/** The front's side of the timer thread. */
export type TimerThread = SupervisedThread<ToTimer, FromTimer>

export function timerThread({ timezone, degraded_after_ms, replaced, ...parts }: TimerThreadParts): TimerThread {
  const thread: TimerThread = new SupervisedThread({
    ...parts,
    name: 'timer',
    module: new URL('../../threads/timer/timer.ts', import.meta.url),
    slot: SLOT.timer,
    task: (): TimerTask => ({ sab: parts.front.memory.sab, time_zone: timezone, degraded_after_ms }),
    receive() {},
    ended() {},
    died() {},
    again() {
      thread.start()
      replaced()
    },
  })
  return thread
}
