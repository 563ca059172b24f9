import Type, { type Static } from 'typebox'
import { limits } from '../limits.ts'
import { ResourceAmounts } from '../nouns/run.ts'

/** `GET /workers/resources`: the books. What each machine has, who holds it since when, and who waits for what. */

export const Holder = Type.Object({
  node: Type.String({ description: '`<flow>.<node>`' }),
  run: Type.Union([Type.String(), Type.Null()], { description: 'Null in live execution.' }),
  cpus: Type.Number(),
  cards: Type.Array(Type.Integer()),
  ram_mb: Type.Number(),
  since: Type.String(),
})
export const MachineResources = Type.Object({
  machine: Type.String({ description: '`local`, or the name of an attached worker.' }),
  capacity: Type.Object({ cpus: Type.Number(), gpus: Type.Integer(), ram_mb: Type.Number() }),
  free: Type.Object({ cpus: Type.Number(), cards: Type.Array(Type.Integer()), ram_mb: Type.Number() }),
  held: Type.Array(Holder),
})
export const WaitingNode = Type.Object({
  node: Type.String(),
  run: Type.Union([Type.String(), Type.Null()]),
  asked: ResourceAmounts,
  needs: ResourceAmounts,
  since: Type.String(),
  device: Type.Union([Type.String(), Type.Null()], {
    description: 'The label that its worker must have. Each label has its own queue.',
  }),
  position: Type.Integer({ description: 'Position in the queue, from 1.' }),
})
export const RunPlaces = Type.Object({
  count: Type.Integer({ description: '`FLOW_MAX_RUNS`: so many runs execute at once.' }),
  free: Type.Integer(),
  set_aside: Type.Integer({
    description: 'Runs that wait for resources, or for a run that computes the same, and hold no place meanwhile.',
  }),
  wanting: Type.Integer({ description: 'Of those: have what they waited for, and wait for a place.' }),
})
export type RunPlaces = Static<typeof RunPlaces>
export const WorkerResources = Type.Object({
  machines: Type.Array(MachineResources),
  waiting: Type.Array(WaitingNode, {
    description: `The first ${limits.WAITING_NODES_SHOWN} in line; with \`run\` those of the run.`,
  }),
  waiting_count: Type.Integer({ description: 'All nodes that wait.' }),
  runs: RunPlaces,
})
export type WorkerResources = Static<typeof WorkerResources>

/** What the machines have, without the places of runs. */
export type MachineBooks = Omit<WorkerResources, 'runs'>
