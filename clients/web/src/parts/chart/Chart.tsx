import 'uplot/dist/uPlot.min.css'
import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import { numberText } from '../format.ts'
import { type Line, summaryOf, tableOf } from './lines.ts'

export type { Line }

export interface ChartProps {
  readonly lines: readonly Line[]
  /** Pixels. */
  readonly height: number
  readonly x?: 'time' | 'number'
  readonly isLog?: boolean
  /** Of y; without it what the lines need. */
  readonly range?: readonly [number, number]
  /** The x that are shown; without it what the lines have. */
  readonly span?: readonly [number, number]
  /** Somebody dragged over a part of it, or double-clicked (null). */
  readonly onZoom?: (span: readonly [number, number] | null) => void
  readonly label: string
}

/** Lines over time or steps. Hairlines only, no frame; the colours are those of the theme. Drawn again whenever `lines` is another array. */
export default function Chart({ lines, height, x = 'time', isLog = false, range, span, onZoom, label }: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const zoom = useRef(onZoom)
  zoom.current = onZoom
  /** What makes another plot; values alone do not. */
  const shape = JSON.stringify([
    lines.map(({ name, color, band, isStepped, unit }) => [name, color, band !== undefined, isStepped, unit]),
    ...[x, isLog, range, height],
  ])
  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` stands for all that it is made of
  useEffect(() => {
    const box = place.current!
    const style = getComputedStyle(box)
    const token = (name: string): string => style.getPropertyValue(name).trim()
    const made = new uPlot(
      optionsOf(
        { lines, height, x, isLog, ...(range === undefined ? {} : { range }) },
        box.clientWidth,
        token,
        selected => zoom.current?.(selected),
      ),
      tableOf(lines) as uPlot.AlignedData,
      box,
    )
    plot.current = made
    if (span !== undefined) made.setScale('x', { min: span[0], max: span[1] })
    const resized = new ResizeObserver(() => made.setSize({ width: box.clientWidth, height }))
    resized.observe(box)
    return () => {
      resized.disconnect()
      made.destroy()
      plot.current = null
    }
  }, [shape])
  useEffect(() => {
    plot.current?.setData(tableOf(lines) as uPlot.AlignedData, span === undefined)
    if (span !== undefined) plot.current?.setScale('x', { min: span[0], max: span[1] })
  }, [lines, span])
  return (
    <figure className="chart" aria-label={label}>
      <div ref={place} className="chart-plot" aria-hidden="true" />
      <figcaption className="sr">{summaryOf(lines)}</figcaption>
    </figure>
  )
}

/** By the distance of the ticks, in seconds: how they are written, and nothing beside; the day comes with ticks of a day. */
const TIMES: uPlot.Axis['values'] = [
  [86_400, '{YYYY}-{MM}-{DD}', null, null, null, null, null, null, 0],
  [60, '{HH}:{mm}', null, null, null, null, null, null, 0],
  [1, '{HH}:{mm}:{ss}', null, null, null, null, null, null, 0],
  [0.001, '{ss}.{fff}', null, null, null, null, null, null, 0],
]

function optionsOf(
  { lines, height, x, isLog, range }: Pick<ChartProps, 'lines' | 'height' | 'x' | 'isLog' | 'range'>,
  width: number,
  token: (name: string) => string,
  onZoom: (span: readonly [number, number] | null) => void,
): uPlot.Options {
  const font = `11px ${token('--sans')}`
  const axis = { stroke: token('--ink-3'), font, ticks: { show: false } }
  const series: uPlot.Series[] = [{}]
  const bands: uPlot.Band[] = []
  for (const { name, unit, color, band, isStepped } of lines) {
    const stroke = color === 0 ? token('--line-control') : token(`--data-${color}`)
    const line: uPlot.Series = {
      label: unit === undefined ? name : `${name} (${unit})`,
      stroke,
      width: 1.5,
      spanGaps: false,
      points: { show: false },
      ...(isStepped ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {}),
    }
    series.push(line)
    if (band === undefined) continue
    const edge: uPlot.Series = { show: true, width: 0, points: { show: false }, stroke: 'transparent' }
    series.push(edge, { ...edge })
    const fill = token(`--data-${color}-band`) || token('--sunken')
    bands.push({ series: [series.length - 1, series.length - 2], fill })
  }
  return {
    width,
    height,
    series,
    bands,
    legend: { show: false },
    scales: {
      x: { time: x === 'time' },
      y: { distr: isLog ? 3 : 1, ...(range === undefined ? {} : { range: [range[0], range[1]] }) },
    },
    axes: [
      { ...axis, grid: { stroke: token('--grid'), width: 1 }, size: 28, ...(x === 'time' ? { values: TIMES } : {}) },
      {
        ...axis,
        grid: { stroke: token('--grid'), width: 1 },
        size: 56,
        values: (_plot, values) => values.map(value => (value === null ? '' : numberText(value, 4))),
      },
    ],
    cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
    hooks: {
      setSelect: [
        made => {
          const { left, width: chosen } = made.select
          if (chosen < 4) return
          onZoom([made.posToVal(left, 'x'), made.posToVal(left + chosen, 'x')])
          made.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
        },
      ],
      ready: [made => made.over.addEventListener('dblclick', () => onZoom(null))],
    },
  }
}
