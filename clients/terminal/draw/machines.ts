import type { WorkerResources } from '../../../protocol/worker/resources.ts'
import type { Shown } from '../view.ts'
import { bar } from './figures.ts'
import { DIM, gap, type Line, left, right, row, rule, span } from './line.ts'

const NAME = 6
const KIND = 6
const BAR = 14

/** What each machine has and how much of it is held. */
export function machineColumn({ engine }: Shown, width: number, height: number): Line[] {
  const lines = (engine.resources?.machines ?? []).flatMap(machine => machineLines(machine, width))
  return lines.length === 0 || height < 2 ? [] : [rule(width, 'machines'), ...lines.slice(0, height - 1)]
}

function machineLines({ machine, capacity, free }: WorkerResources['machines'][number], width: number): Line[] {
  const kinds: [kind: string, held: number, all: number, text: string][] = [
    [
      'cores',
      capacity.cpus - free.cpus,
      capacity.cpus,
      `${short(capacity.cpus - free.cpus)} of ${short(capacity.cpus)}`,
    ],
    [
      'ram',
      capacity.ram_mb - free.ram_mb,
      capacity.ram_mb,
      `${gib(capacity.ram_mb - free.ram_mb)} of ${gib(capacity.ram_mb)} G`,
    ],
  ]
  const cards = capacity.gpus - free.cards.length
  if (capacity.gpus > 0) kinds.push(['cards', cards, capacity.gpus, `${cards} of ${capacity.gpus}`])
  return kinds
    .filter(([, , all]) => all > 0)
    .map(([kind, held, all, text], at) =>
      row(
        width,
        [
          gap(1),
          left(at === 0 ? machine : '', NAME),
          gap(1),
          span(kind.padEnd(KIND), DIM),
          span(bar(held / all, Math.max(4, Math.min(BAR, width - 29)))),
        ],
        [right(text, 14), gap(1)],
      ),
    )
}

const short = (figure: number): string => String(Math.round(figure * 10) / 10)
const gib = (mb: number): string => short(mb / 1024)
