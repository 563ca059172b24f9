import type { RunNode } from '../../../protocol/nouns/run.ts'
import type { WorkerResources } from '../../../protocol/worker/resources.ts'

type Waiting = WorkerResources['waiting'][number]

/** `8 cores 2 cards (gpu-large)` */
export const amounts = ({ cpus, gpus, ram_mb, flavor }: Waiting['needs']): string =>
  [
    ...(cpus === null ? [] : [`${cpus} cores`]),
    ...(gpus === null ? [] : [`${gpus} ${gpus === 1 ? 'card' : 'cards'}`]),
    ...(ram_mb === null ? [] : [`${ram_mb} MB`]),
    ...(flavor === null ? [] : [`(${flavor})`]),
  ].join(' ')

/** What a node of a running run waits for; empty when it does not wait. */
export function waitsFor(
  node: RunNode,
  flow: string,
  run: string,
  { waiting }: Pick<WorkerResources, 'waiting'>,
): string {
  const waits = waiting.find(one => one.run === run && one.node === `${flow}.${node.node}`)
  if (waits !== undefined) {
    const what = waits.device === null ? amounts(waits.needs) : `a worker with the label ${waits.device}`
    return `waits for ${what}, position ${waits.position}`
  }
  return node.status === 'queued' && node.granted !== null ? 'has its resources, waits for a run place' : ''
}
