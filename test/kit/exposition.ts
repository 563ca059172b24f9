/**
 * A strict reader of the Prometheus text exposition format 0.0.4: it throws on whatever the format does not allow, and on
 * histograms that contradict themselves.
 */
export interface Family {
  readonly name: string
  readonly type: string
  readonly help: string
  readonly samples: { name: string; labels: Record<string, string>; value: number }[]
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"/
const VALUE = /^(?:[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]Inf|NaN)$/
const SUFFIXES: Readonly<Record<string, readonly string[]>> = { histogram: ['_bucket', '_sum', '_count'] }

export function readExposition(text: string): Map<string, Family> {
  if (!text.endsWith('\n')) throw new RangeError('the last line has no end')
  const families = new Map<string, Family>()
  const seen = new Set<string>()
  let family: Family | null = null
  let help: { name: string; text: string } | null = null
  for (const line of text.slice(0, -1).split('\n')) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line)
    if (comment !== null) {
      const [, kind, name, rest] = comment as unknown as [string, string, string, string]
      if (kind === 'HELP') {
        if (families.has(name)) throw new RangeError(`${name} is described twice`)
        if (rest.replace(/\\[\\n]/g, '').includes('\\')) throw new RangeError(`a wrong escape in: ${line}`)
        help = { name, text: rest }
        continue
      }
      if (families.has(name)) throw new RangeError(`${name} has two types`)
      if (help?.name !== name) throw new RangeError(`${name} has a type and no help before it`)
      if (!['counter', 'gauge', 'histogram'].includes(rest)) throw new RangeError(`no type: ${line}`)
      family = { name, type: rest, help: help.text, samples: [] }
      families.set(name, family)
      continue
    }
    if (line.startsWith('#') || family === null) throw new RangeError(`not in a family: ${line}`)
    const sample = readSample(line)
    const suffixes = SUFFIXES[family.type] ?? ['']
    if (!suffixes.some(suffix => sample.name === `${family!.name}${suffix}`))
      throw new RangeError(`${sample.name} stands in the family ${family.name}`)
    const key = `${sample.name} ${JSON.stringify(Object.entries(sample.labels).sort())}`
    if (seen.has(key)) throw new RangeError(`twice: ${line}`)
    seen.add(key)
    family.samples.push(sample)
  }
  for (const each of families.values()) if (each.type === 'histogram') assertHistogram(each)
  return families
}

function readSample(line: string): Family['samples'][number] {
  const name = NAME.exec(line)?.[0]
  if (name === undefined) throw new RangeError(`no name: ${line}`)
  let rest = line.slice(name.length)
  const labels: Record<string, string> = {}
  if (rest.startsWith('{')) {
    rest = rest.slice(1)
    while (!rest.startsWith('}')) {
      const label = LABEL.exec(rest)
      if (label === null) throw new RangeError(`no label at ${rest}`)
      if (Object.hasOwn(labels, label[1]!)) throw new RangeError(`the label ${label[1]} stands twice: ${line}`)
      labels[label[1]!] = label[2]!.replace(/\\(.)/g, (_, character) => (character === 'n' ? '\n' : character))
      rest = rest.slice(label[0].length)
      if (rest.startsWith(',')) rest = rest.slice(1)
      else if (!rest.startsWith('}')) throw new RangeError(`neither a comma nor an end at ${rest}`)
    }
    rest = rest.slice(1)
  }
  const value = rest.slice(1)
  if (!rest.startsWith(' ') || !VALUE.test(value)) throw new RangeError(`no value: ${line}`)
  return { name, labels, value: value.endsWith('Inf') ? Number(`${value}inity`) : Number(value) }
}

/** Of each series: ends that rise to +Inf, counts that do not fall, and a count that is the last bucket. */
function assertHistogram({ name, samples }: Family): void {
  const series = new Map<string, { ends: number[]; counts: number[]; sum?: number; count?: number }>()
  for (const { name: part, labels, value } of samples) {
    const { le, ...others } = labels
    const key = JSON.stringify(Object.entries(others).sort())
    const one = series.get(key) ?? { ends: [], counts: [] }
    series.set(key, one)
    if (part.endsWith('_bucket')) {
      if (le === undefined) throw new RangeError(`a bucket of ${name} has no le`)
      one.ends.push(le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le))
      one.counts.push(value)
    } else if (le !== undefined) throw new RangeError(`${part} has an le`)
    else if (part.endsWith('_sum')) one.sum = value
    else one.count = value
  }
  for (const [key, { ends, counts, sum, count }] of series) {
    const rises = ends.every((end, at) => at === 0 || end > ends[at - 1]!)
    const grows = counts.every((each, at) => at === 0 || each >= counts[at - 1]!)
    if (!rises || !grows || ends.at(-1) !== Number.POSITIVE_INFINITY || sum === undefined || count !== counts.at(-1))
      throw new RangeError(`the histogram ${name} of ${key} contradicts itself`)
  }
}
