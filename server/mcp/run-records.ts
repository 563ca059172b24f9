import { ServiceError } from '../../protocol/errors.ts'
import type { List } from '../../protocol/nouns/list.ts'
import type { Run, RunNode, RunStatus } from '../../protocol/nouns/run.ts'
import type { Engine } from '../engine.ts'
import { shortened } from './results.ts'

/** A record that is longer is not taken apart on this thread. */
const MOST_BYTES = 256 * 1024
const INPUT_SHOWN = 1_000
const RESULT_SHOWN = 2_000
const STACK_SHOWN = 2_000

type Text = Awaited<ReturnType<Engine['runs']['text']>>

interface Read<Value> {
  /** Null: it is too long. */
  readonly value: Value | null
  readonly head: string
}

/** A text is read no further than what may be taken apart. */
async function read<Value>(text: Text): Promise<Read<Value>> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of text instanceof Uint8Array ? [text] : text) {
    bytes += piece.length
    pieces.push(Buffer.from(piece.subarray(0, MOST_BYTES)))
    if (bytes > MOST_BYTES) return { value: null, head: pieces[0]!.toString('utf8', 0, HEAD_BYTES) }
  }
  const whole = Buffer.concat(pieces).toString()
  return { value: JSON.parse(whole) as Value, head: whole.slice(0, HEAD_BYTES) }
}

/** Of a record these members come first. */
const HEAD_BYTES = 1_024
const HEAD = /^\{"id":"([^"]+)","flow":"([^"]+)","status":"([a-z]+)"/

/** A run as a tool shows it; of one whose record is too long what its head says. */
export async function recordOf(text: Run | Text): Promise<{ status: RunStatus; shown: object }> {
  if ('id' in text) return { status: text.status, shown: shownRun(text) }
  const { value, head } = await read<Run>(text)
  if (value !== null) return { status: value.status, shown: shownRun(value) }
  const [, id, flow, status] = HEAD.exec(head) ?? []
  if (status === undefined) throw new RangeError('the record of a run begins with its id, flow and status')
  const note = `The record is too long to show here: "svc runs show ${id}" shows it, and list_runs its short form.`
  return { status: status as RunStatus, shown: { id, flow, status, note } }
}

const tooLong = (id: string): ServiceError =>
  new ServiceError('too_large', `The record of run ${id} is longer than ${MOST_BYTES} bytes.`)

export async function runOf({ runs }: Engine, id: string): Promise<Run> {
  const { value } = await read<Run>(await runs.text(id))
  if (value === null) throw tooLong(id)
  return value
}

/** Null: the outputs of the nodes are too long to take apart here. */
export async function nodesOf({ runs }: Engine, id: string): Promise<RunNode[] | null> {
  const nodes = await runs.nodesText(id)
  if ('items' in nodes) return nodes.items
  return (await read<List<RunNode>>(nodes)).value?.items ?? null
}

/** The same; throws `too_large`. */
export async function wholeNodesOf(engine: Engine, id: string): Promise<RunNode[]> {
  const nodes = await nodesOf(engine, id)
  if (nodes === null) throw tooLong(id)
  return nodes
}

const each = (values: Record<string, unknown> | null, most: number): Record<string, unknown> | null =>
  values && Object.fromEntries(Object.entries(values).map(([name, value]) => [name, shortened(value, most)]))

export const shownError = ({ code, message, node, stack, inputs }: NonNullable<Run['error']>) => ({
  code,
  message,
  node,
  ...(stack === null ? {} : { stack: shortened(stack, STACK_SHOWN) }),
  ...(inputs === undefined ? {} : { inputs: shortened(inputs, INPUT_SHOWN) }),
})

/** What of a run a model can use. */
export const shownRun = (run: Run) => ({
  ...{ id: run.id, flow: run.flow, version: run.version, status: run.status, created_by: run.created_by },
  ...{ created_at: run.created_at, started_at: run.started_at, finished_at: run.finished_at, duration: run.duration },
  ...(run.groups.length === 0 ? {} : { groups: run.groups }),
  ...(run.tags.length === 0 ? {} : { tags: run.tags }),
  ...(run.note === '' ? {} : { note: run.note }),
  ...(run.seed === null ? {} : { seed: run.seed }),
  ...(run.retry_of === null ? {} : { retry_of: run.retry_of, attempt: run.attempt }),
  inputs: each(run.inputs, INPUT_SHOWN),
  result: each(run.result, RESULT_SHOWN),
  error: run.error && shownError(run.error),
})

export const shownNode = (
  { node, status, executions, duration, cached_from, error, outputs }: RunNode,
  isWhole = false,
) => ({
  ...{ node, status, executions, duration },
  ...(cached_from === null ? {} : { cached_from }),
  ...(error === null ? {} : { error: shownError(error) }),
  ...(isWhole ? { outputs: each(outputs, RESULT_SHOWN * 4) } : {}),
})
