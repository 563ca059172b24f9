interface Reference {
  digest: string
  media_type: string
}
interface Context {
  read(reference: Reference): Promise<Uint8Array>
  artifact(content: Float64Array, media_type: string): Promise<Reference>
}

/** Reads a series out of its csv file, `timestamp,value` lines under a heading: `times` in seconds since 1970, and `readings`. */
export default async function load(
  { series, files }: { series: string; files: Record<string, Reference> },
  ctx: Context,
) {
  const file = files[series]
  if (file === undefined) throw new RangeError(`There is no series ${series}, only ${Object.keys(files).join(', ')}.`)
  const lines = new TextDecoder()
    .decode(await ctx.read(file))
    .trim()
    .split('\n')
    .slice(1)
  const times = Float64Array.from(lines, line => Date.parse(`${line.slice(0, 10)}T${line.slice(11, 19)}Z`) / 1000)
  const readings = Float64Array.from(lines, line => Number(line.slice(line.indexOf(',') + 1)))
  return {
    times: await ctx.artifact(times, 'application/octet-stream'),
    readings: await ctx.artifact(readings, 'application/octet-stream'),
  }
}
