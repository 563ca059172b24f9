import { normalize } from '../../core/flow/normalize.ts'
import { THREAD_KIND, ThreadTable } from '../../core/memory/threads.ts'
import type { EngineEvent } from '../../protocol/nouns/event.ts'
import type { Flavor } from '../../protocol/nouns/flavor.ts'
import { formatTime } from '../../protocol/time.ts'
import { ResourceDesk } from '../../server/calls/resource-desk.ts'
import { LiveFlavors } from '../../server/flows/flavors.ts'
import type { Flows } from '../../server/flows/flows.ts'
import { smallMemory } from './memory.ts'

/** Flavors whose store is a list, over the flows of a double; what they announce stands in `events`. */
export function flavorsOver({ flows }: { flows: Flows }, stored: Flavor[] = [], events: object[] = []): LiveFlavors {
  let last: Promise<unknown> = Promise.resolve()
  return new LiveFlavors({
    stored,
    store: {
      put: async flavor => flavor,
      delete: async () => true,
    },
    flows: {
      all: () =>
        flows
          .list({ limit: 1000, offset: 0 })
          .items.map(({ name }) => ({ name, document: normalize(flows.get(name).document) })),
      inTurn: change => {
        const turn = last.then(change, change)
        last = turn.catch(() => undefined)
        return turn
      },
    },
    announce: (type, flow, more) => events.push({ type, flow, ...more }),
  })
}

/** The books of a machine with four cores, two cards and 1000 MB, and a clock that goes on by a microsecond a look. */
export function ownMachine(
  events: Partial<EngineEvent>[] = [],
  clock = { now_us: 1_767_225_600_000_000 },
): ResourceDesk {
  const memory = smallMemory({ book_claims: 32, book_waiting: 32 })
  return new ResourceDesk({
    memory,
    owner: new ThreadTable(memory).enter(1, THREAD_KIND.front),
    machine: { cpus: 4, gpus: 2, ram_mb: 1000 },
    steady_us: () => clock.now_us++,
    shownTime: formatTime,
    announce: (type, flow, more) => events.push({ type, flow, ...more }),
  })
}
