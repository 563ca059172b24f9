import type { Route } from '../../../../core/cascade/publish/route.ts'
import { endRelease, releaseScheduled, type ScheduledRelease } from '../../../../core/cascade/schedule/release.ts'
import { Schedule } from '../../../../core/cascade/schedule/schedule.ts'
import { ScheduledTable } from '../../../../core/memory/scheduled.ts'
import { emptyItem, type Station, told } from './station.ts'

/** A lane's schedule without a timer: nobody is told. */
export function schedulingLane(station: Station, dropped: (reason: string) => void = () => {}): Schedule {
  const { owner, flows, journal, memory, arena } = station
  return new Schedule({
    owner,
    flows,
    journal,
    scheduled: new ScheduledTable(memory, arena),
    notice() {},
    dropped: (_flow, reason) => dropped(reason),
  })
}

/** As the timer does it, with a clock of the test. */
export function release(station: Station, route: Route, now_ms: number): ScheduledRelease {
  const clock = { now_us: () => now_ms * 1000, steady_us: () => now_ms * 1000 }
  const scheduled = new ScheduledTable(station.memory, station.arena)
  return releaseScheduled({ ...handsOf(station), scheduled, clock }, route, emptyItem().value, now_ms)
}

const handsOf = ({ flows, journal, publisher, owner }: Station) => ({
  flows,
  journal,
  publisher,
  owner,
})

/** Publishes all that is scheduled of the message; answers the values that its flow's queue has then. */
export function releaseAll(station: Station, route: Route): string[] {
  while (release(station, route, 1e9) === 'published');
  endRelease(station)
  const values: string[] = []
  const item = emptyItem()
  if (!station.flows.claim(route.flow, station.owner)) throw new RangeError('the flow is owned')
  while (station.queue.take(route.flow, item)) values.push(told(item.value))
  station.flows.release(route.flow, station.owner)
  return values
}
