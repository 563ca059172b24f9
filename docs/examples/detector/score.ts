interface Reference {
  digest: string
  media_type: string
}
interface Context {
  /** The entry of each series in the labels. */
  settings: { entries: Record<string, string> }
  read(reference: Reference): Promise<Uint8Array>
}

/**
 * Holds the alarms against the labelled windows. A hit is a window inside which an alarm was raised, however often; an alarm
 * that was raised outside every window is a false one.
 */
export default async function score(
  inputs: { raised: number[]; times: Reference; series: string; labels: Reference },
  ctx: Context,
) {
  const times = numbers(await ctx.read(inputs.times))
  const labels = JSON.parse(new TextDecoder().decode(await ctx.read(inputs.labels))) as Record<string, string[][]>
  const windows = labels[ctx.settings.entries[inputs.series]].map(window => window.map(seconds))
  const raised_at = inputs.raised.map(reading => times[reading])
  const isInside = (at: number, [from, to]: number[]) => at >= from && at <= to
  const hits = windows.filter(window => raised_at.some(at => isInside(at, window))).length
  const missed = windows.length - hits
  const false_alarms = raised_at.filter(at => !windows.some(window => isInside(at, window))).length
  return {
    hits,
    missed,
    false_alarms,
    // Of no alarm at all nothing can be said; what is left out is an empty cell.
    ...(hits + false_alarms === 0 ? {} : { precision: hits / (hits + false_alarms) }),
    recall: hits / windows.length,
    f1: (2 * hits) / (2 * hits + false_alarms + missed),
  }
}

/** `2013-12-15 07:00:00.000000`, which is UTC. */
const seconds = (text: string): number => Date.parse(`${text.slice(0, 10)}T${text.slice(11, 19)}Z`) / 1000

const numbers = (bytes: Uint8Array) => new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8)
