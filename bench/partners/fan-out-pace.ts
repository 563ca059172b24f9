/** What both servers of `fan-out` have in common: how fast they publish, so that no reading socket falls behind. */
export interface FanOutBurst {
  values: number
  /** The first so many sockets read; the others are stalled and hold nobody up. */
  reading: number
  text: string
}
export interface FanOutSpent {
  first_us: number
  /** Processor time from the first publish until the buffers of the reading sockets were empty. */
  cpu_us: number
}

/** Values in one turn of the event loop. */
const BATCH = 32
const BUFFERED_BYTES = 64 * 1024

export const now_us = (): number => Number(process.hrtime.bigint()) / 1000

/** Publishes `values` times in batches; waits while any of the buffers is long. `buffered()`: bytes, of the reading sockets. */
export async function paced(
  values: number,
  buffered: () => number[],
  publish: () => void,
  flush: () => void = () => {},
): Promise<FanOutSpent> {
  const first_us = now_us()
  const before = process.cpuUsage()
  for (let left = values; left > 0; ) {
    if (Math.max(...buffered()) < BUFFERED_BYTES) {
      for (let batch = Math.min(BATCH, left); batch > 0; batch--, left--) publish()
      flush()
    }
    await new Promise(resolve => setImmediate(resolve))
  }
  while (Math.max(...buffered()) > 0) await new Promise(resolve => setImmediate(resolve))
  const spent = process.cpuUsage(before)
  return { first_us, cpu_us: spent.user + spent.system }
}
