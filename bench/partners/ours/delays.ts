/**
 * One contestant of the bench `delays`, in a process of its own so that its memory is its own. Argument: floor, ours or rival. Prints
 * `{us, bytes}` of a new value while 100,000 wait, and of each of those.
 */
import { readFileSync } from 'node:fs'
import { FlowTable } from '../../../core/cascade/flows.ts'
import { Schedule } from '../../../core/cascade/schedule/schedule.ts'
import { Arena } from '../../../core/memory/arena.ts'
import { KIND } from '../../../core/memory/encoded.ts'
import { JournalReader, JournalWriter } from '../../../core/memory/journal/journal.ts'
import { MessageTable } from '../../../core/memory/messages.ts'
import { createMemory, productionSizes } from '../../../core/memory/region.ts'
import { ScheduledTable } from '../../../core/memory/scheduled.ts'
import { SLOT, THREAD_KIND, ThreadTable } from '../../../core/memory/threads.ts'

const PENDING = 100_000
const NEW = 20_000
const WAIT_MS = 3_600_000
const FLOW = 1
const MESSAGE = 1

const residentBytes = (): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]) * 1024

/** `put` takes one value; `settle` is what follows each 256, as a turn of a lane has it. */
function measure(put: (number: number) => void, settle: () => void): { us: number; bytes: number } {
  const fill = (from: number, to: number): number => {
    let ms = 0
    for (let at = from; at < to; at += 256) {
      const begun = performance.now()
      for (let number = at; number < Math.min(to, at + 256); number++) put(number)
      ms += performance.now() - begun
      settle()
    }
    return ms
  }
  fill(0, 1_000)
  globalThis.gc?.()
  const before = residentBytes()
  fill(1_000, PENDING)
  globalThis.gc?.()
  const bytes = (residentBytes() - before) / (PENDING - 1_000)
  return { us: (fill(PENDING, PENDING + NEW) * 1000) / NEW, bytes }
}

/** A lane's part: the list, the counts and the record of the journal, which a reader takes as the store does. */
function ours(): { us: number; bytes: number } {
  const memory = createMemory(productionSizes)
  const owner = new ThreadTable(memory).enter(SLOT.lane, THREAD_KIND.lane)
  const arena = new Arena(memory, owner)
  const flows = new FlowTable(memory)
  const wakes = { store: () => {}, front: () => {} }
  const journal = new JournalWriter(memory, SLOT.lane, wakes)
  const scheduled = new ScheduledTable(memory, arena)
  new MessageTable(memory).reset(MESSAGE, FLOW)
  const dropped = (_flow: number, reason: string): never => {
    throw new RangeError(reason)
  }
  const schedule = new Schedule({ owner, flows, journal, scheduled, notice() {}, dropped })
  const reader = new JournalReader(memory, SLOT.lane, 'store')
  const value = { kind: KIND.float, number: 0, bytes: Buffer.alloc(0), length: 8 }
  const timing = { kind: 'delay', wait_s: WAIT_MS / 1000, passthrough: false, wait_port: null } as const
  const nothing = { visit() {} }
  // The ring is touched once before anything is measured.
  for (let at = 0; at < 300_000; at++) {
    journal.released(MESSAGE, 0, 0)
    if (at % 256 !== 0) continue
    journal.mark()
    reader.drain(nothing, 1 << 24)
  }
  journal.mark()
  reader.drain(nothing, 1 << 24)
  return measure(
    number => {
      value.number = number
      schedule.passes(FLOW, MESSAGE, timing, null, value, number)
    },
    () => {
      journal.mark()
      reader.drain(nothing, 1 << 24)
    },
  )
}

function floor(): { us: number; bytes: number } {
  const list: { due_ms: number; value: number }[] = []
  return measure(
    number => list.push({ due_ms: number + WAIT_MS, value: number }),
    () => {},
  )
}

function rival(): { us: number; bytes: number } {
  const published: number[] = []
  return measure(
    number =>
      setTimeout(() => {
        published.push(number)
      }, WAIT_MS),
    () => {},
  )
}

const contestants: Record<string, () => { us: number; bytes: number }> = { floor, ours, rival }
console.log(JSON.stringify(contestants[process.argv[2]!]!()))
process.exit(0)
