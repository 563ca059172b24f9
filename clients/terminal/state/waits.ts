import type { WorkerResources } from '../../../protocol/worker/resources.ts'
import type { RunState } from './engine-state.ts'

type Waiting = WorkerResources['waiting'][number]

/** A run goes by the end of its id: the first characters of ids are those of the time, and alike. */
export const shortRun = (id: string): string => id.slice(-4)

export interface Wait {
  readonly flow: string
  /** Null: a node of a live flow. */
  readonly run: string | null
  readonly since: string
  /** `1 card`; with `why` behind it a sentence. */
  readonly what: string
  readonly why: string
}

/** Who waits and for what: nodes in line for resources, then runs in line for a place. */
export function waitsOf(runs: readonly RunState[], resources: WorkerResources | null): Wait[] {
  const nodes = (resources?.waiting ?? []).map(waiting => ofNode(waiting, resources!))
  const inLine = new Set(nodes.map(({ run }) => run))
  const places = runs
    .filter(({ id, status }) => status === 'queued' && !inLine.has(id))
    .map(({ id, flow, created_at }) => ({
      flow,
      run: id,
      since: created_at,
      what: 'a place to run',
      why:
        resources === null ? '' : `${resources.runs.count - resources.runs.free} of ${resources.runs.count} are taken`,
    }))
  return [...nodes, ...places]
}

function ofNode({ node, run, since, needs, device, position }: Waiting, { machines }: WorkerResources): Wait {
  const flow = node.slice(0, node.indexOf('.'))
  const line = position > 1 ? `, position ${position} in line` : ''
  if (device !== null) return { flow, run, since, what: `a worker labelled ${device}`, why: `none is attached${line}` }
  const { gpus, cpus, ram_mb } = needs
  if (gpus !== null && gpus > 0) {
    const held = machines.filter(({ capacity }) => capacity.gpus > 0).map(cardsOf)
    return { flow, run, since, what: `${gpus} ${gpus === 1 ? 'card' : 'cards'}`, why: `${held.join('; ')}${line}` }
  }
  if (cpus !== null && cpus > 0) {
    const free = machines.map(({ machine, free: left }) => `${machine} has ${left.cpus} free`)
    return { flow, run, since, what: `${cpus} ${cpus === 1 ? 'core' : 'cores'}`, why: `${free.join(', ')}${line}` }
  }
  const free = machines.map(({ machine, free: left }) => `${machine} has ${Math.floor(left.ram_mb)} MB free`)
  return { flow, run, since, what: `${ram_mb ?? 0} MB`, why: `${free.join(', ')}${line}` }
}

/** `gpu-1 0 by 7c1e, 1 by a9d0` */
function cardsOf({ machine, held, free }: WorkerResources['machines'][number]): string {
  const taken = held.flatMap(({ cards, run, node }) =>
    cards.map(card => `${card} by ${run === null ? node : shortRun(run)}`),
  )
  return `${machine} ${[...taken, ...(free.cards.length > 0 ? [`${free.cards.length} free`] : [])].join(', ')}`
}
