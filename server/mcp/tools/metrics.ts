import Type from 'typebox'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { MetricSeries, MetricSeriesList } from '../../../protocol/nouns/run.ts'
import type { Engine } from '../../engine.ts'
import { wholeRun } from '../../http/parse/short-ids.ts'
import { closed, flowName, runId } from '../arguments.ts'
import { tableOf } from '../tables.ts'
import { type Tool, tool } from '../tool.ts'

const CURVES = 8
const STRIDE_STEP = 8

interface Asked {
  readonly run: string | null
  readonly flow: string | null
  readonly group: string | null
  readonly name: string | null
}

/** Whole curves, each n-th point of them where they are long: a wider stride until all have room. */
async function curves({ runs }: Engine, asked: Asked): Promise<MetricSeriesList & { stride: number }> {
  for (let stride = 1; ; stride *= STRIDE_STEP) {
    const list = await runs.series({
      ...{ ...asked, tags: [], status: null, since: null, before: null },
      ...{ stride, offset: 0, limit: limits.SERIES_POINTS, bytes: limits.LIST_BYTES / 2 },
    })
    if (list.next === undefined || stride * STRIDE_STEP > limits.EXPORT_STRIDE) return { ...list, stride }
  }
}

/** At most so many, evenly; the first and the last among them. */
function thinned({ steps, values }: MetricSeries, most: number): [step: number, value: number][] {
  const count = Math.min(most, steps.length)
  return Array.from({ length: count }, (_, at) => {
    const index = count === 1 ? steps.length - 1 : Math.round((at * (steps.length - 1)) / (count - 1))
    return [steps[index]!, values[index]!]
  })
}

const figures = ({ run, name, steps, values }: MetricSeries): unknown[] => [
  ...[run, name, steps.length, values[0], values.at(-1)],
  ...[
    values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
    values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
  ],
]

export const metricTools: readonly Tool[] = [
  tool({
    name: 'read_metrics',
    title: 'Read metrics of runs',
    description:
      'Returns metrics of one run, of a group or of a flow as a small table. Without name: each metric with points, first, last, lowest and highest value. With name: its curve, points thinned evenly, for up to 8 runs.',
    scope: 'read',
    input: Type.Object(
      {
        run: Type.Optional(runId),
        group: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
        flow: Type.Optional(flowName),
        name: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: '<flow>.<node>.<name>' })),
        points: Type.Optional(
          Type.Integer({ minimum: 1, maximum: 500, description: 'Of each curve; 30 when absent.' }),
        ),
      },
      closed,
    ),
    run: async ({ run, group, flow, name, points = 30 }, { engine }) => {
      if (run === undefined && group === undefined && flow === undefined)
        throw new ServiceError('validation', 'The arguments were refused.', {
          errors: [{ loc: 'arguments', msg: 'needs a run, a group or a flow' }],
        })
      const id = run === undefined ? null : await wholeRun(engine.runs, run)
      if (id !== null) await engine.runs.exists(id)
      const asked = { run: id, group: id === null ? (group ?? null) : null, flow: id === null ? (flow ?? null) : null }
      const { items, stride, next } = await curves(engine, { ...asked, name: name ?? null })
      const thin = stride === 1 ? '' : `every ${stride}th point was looked at`
      const cut = next === undefined ? thin : 'there are more: ask for one run or one name'
      if (name === undefined) {
        const columns = ['run', 'name', 'points', 'first', 'last', 'lowest', 'highest']
        return tableOf({ title: 'metrics', columns, rows: items.map(figures), note: cut })
      }
      const shown = items.slice(0, CURVES)
      const rows = shown.flatMap(series => thinned(series, points).map(point => [series.run, ...point]))
      const others = items.length > CURVES ? `${items.length - CURVES} more runs have it` : cut
      return tableOf({ title: name, columns: ['run', 'step', 'value'], rows, note: others })
    },
  }),
]
