import { Publisher } from '../../core/cascade/publish/publish.ts'
import type { Route } from '../../core/cascade/publish/route.ts'
import { IngressQueue } from '../../core/cascade/queue/queue.ts'
import { releaseHeld } from '../../core/cascade/release-held.ts'
import type { Plan } from '../../core/flow/plan.ts'
import { Arena } from '../../core/memory/arena.ts'
import { HeldTable } from '../../core/memory/held.ts'
import { JournalReader } from '../../core/memory/journal/reader.ts'
import { JournalWriter } from '../../core/memory/journal/writer.ts'
import { SLOT, THREAD_KIND, ThreadTable } from '../../core/memory/threads.ts'
import type { FlowNode } from '../../protocol/nouns/flow-document.ts'
import { createCodec, newEncoded } from '../../protocol/values/codec.ts'
import type { LiveFlow, LiveMessage } from '../../server/flows/flow.ts'
import type { MessageMap } from '../../server/flows/message-map.ts'
import type { Names } from '../../server/flows/names.ts'
import { restore } from '../../server/flows/restart/restore.ts'
import { resume } from '../../server/flows/restart/resume.ts'
import { FrontMemory } from '../../server/lanes/front-memory.ts'
import { decodeCascades } from '../../server/store/cascades/chunk.ts'
import { EARLIER } from '../../server/store/cascades/earlier.ts'
import { CascadeRows } from '../../server/store/cascades/pending.ts'
import { eachGroup } from '../../server/store/history/log.ts'
import { PointBatch } from '../../server/store/history/point-batch.ts'
import { PointDecoder } from '../../server/store/history/point-chunk.ts'
import { Cut } from '../../server/store/writer/cut.ts'
import type { EngineStore } from '../../server/store/writer/engine-store.ts'
import type { KeptState } from '../../threads/lane/kept-state.ts'
import { createIndexer, planOf } from './flow-documents.ts'
import { smallMemory } from './memory.ts'
import { opened } from './opened-store.ts'
import { type SteppedBody, SteppedLane } from './stepped-lane.ts'
import { saving } from './stored.ts'

export interface SteppedFlow {
  readonly name: string
  readonly nodes: FlowNode[]
  /** Flows that read its messages, and all that can be reached over them. */
  readonly reachable: readonly string[]
}

/** Several flows as plans, with the bodies of their nodes; made once, as a document is, for all engines that run it. */
export class SteppedGraph {
  readonly plans = new Map<number, Plan>()
  readonly messages = new Map<string, { index: number; route: Route }>()
  readonly nodes = new Map<string, number>()
  readonly flows: readonly SteppedFlow[]
  readonly bodies: ReadonlyMap<string, SteppedBody>

  constructor(flows: readonly SteppedFlow[], bodies: ReadonlyMap<string, SteppedBody>) {
    this.flows = flows
    this.bodies = bodies
    const indexer = createIndexer()
    const readersOf = (message: string): string[] =>
      flows
        .filter(({ nodes }) => nodes.some(({ ports }) => ports!.inputs!.some(port => port.message === message)))
        .map(({ name }) => name)
    for (const { name } of flows) indexer.flow(name)
    for (const { name, nodes, reachable } of flows) {
      const wiring = { readersOf, reachable: () => reachable }
      const plan = planOf(nodes, { flow: name, indexer, wiring, digest: id => `${name}.${id}` })
      this.plans.set(plan.flow_index, plan)
      for (const node of plan.nodes) this.nodes.set(node.qualified, node.index)
      for (const { own, name: qualified, index, queued, foreign, downstream } of plan.messages) {
        if (!own) continue
        const route = { message: index, flow: plan.flow_index, queued, foreign, downstream }
        this.messages.set(qualified, { index, route })
      }
    }
  }
}

/** What an engine leaves behind, for comparison. */
export interface Traces {
  /** Values by message, in the order of their versions; the version stands with each. */
  readonly history: Record<string, [version: number, value: number][]>
  readonly states: Record<string, unknown>
  /** `flow message@version status executions errors`, with its parent, sorted. */
  readonly cascades: string[]
}

const LANES = 2

/**
 * A whole engine in one thread: the store over its file, the front's share of a start, the timer's of a held value, and lanes
 * of which the test makes one step at a time. Nothing of it outlives `crash` but the file.
 */
export class SteppedEngine {
  readonly store: EngineStore
  readonly dropped: unknown[]
  /** Called behind every mark of any thread. */
  onMark: () => void = () => {}
  readonly #graph: SteppedGraph
  readonly #time: { ms: number; readonly origin_us: number }
  readonly #random: () => number
  readonly #front: FrontMemory
  readonly #cut: Cut
  readonly #lanes: SteppedLane[]
  readonly #timer: Parameters<typeof releaseHeld>[0]
  readonly #value = newEncoded()
  readonly #codec = createCodec()

  constructor(
    data_dir: string,
    graph: SteppedGraph,
    time: { ms: number; readonly origin_us: number },
    random: () => number,
  ) {
    this.#graph = graph
    this.#time = time
    this.#random = random
    const bounds = { direct_points: 16, log_rows: 8, join_chunks: 4 }
    this.store = opened(data_dir, bounds, () => Math.floor(time.origin_us + time.ms * 1000))
    this.store.db.pragma('synchronous = OFF')
    const { loaded } = this.store
    if (loaded.flows.length === 0) {
      for (const [id, { name }] of graph.flows.entries())
        this.store.commit.run(this.store.intake, [{ id, request: { type: 'save_flow', save: saving(name) } }])
    }
    this.store.registry.register({
      messages: [...graph.messages].map(([name, { index }]) => [index, name, 'int'] as const),
      flows: graph.flows.map(({ name }, index) => [index, name] as const),
      nodes: [...graph.nodes].map(([name, index]) => [index, name] as const),
    } as never)
    const memory = smallMemory({ nodes: 64, ring_bytes: 256 * 1024 })
    const front = new FrontMemory(memory, () => this.#now_us() / 1000)
    this.#front = front
    const map = {
      get: (name: string) => {
        const message = graph.messages.get(name)
        return message === undefined ? undefined : ({ ...message, name, dtype: 'int' } as unknown as LiveMessage)
      },
    } as MessageMap
    restore(
      loaded,
      front,
      map,
      { findNode: (name: string) => graph.nodes.get(name) ?? -1 } as unknown as Names,
      () => {},
    )
    const live = [...graph.plans.values()].map(
      plan => ({ name: plan.flow, index: plan.flow_index, document: {}, plan }) as unknown as LiveFlow,
    )
    const find = (name: string): LiveFlow | undefined => live.find(flow => flow.name === name)
    const resumed = resume(loaded.waiting, { front, map, find, live, hasCrashed: () => false })
    this.dropped = resumed.dropped
    this.store.intake.resumed(resumed.flows)
    this.#cut = new Cut(
      Array.from({ length: memory.sizes.rings }, (_, slot) => new JournalReader(memory, slot, 'store')),
    )
    this.#lanes = Array.from(
      { length: LANES },
      (_, at) =>
        new SteppedLane({
          sab: memory.sab,
          slot: SLOT.lane + at,
          plans: graph.plans,
          bodies: graph.bodies,
          time,
          random,
        }),
    )
    const owner = new ThreadTable(memory).enter(SLOT.timer, THREAD_KIND.timer)
    const arena = new Arena(memory, owner)
    const journal = new JournalWriter(memory, SLOT.timer, { store: () => {}, front: () => {} })
    const { flows, ready, messages } = front
    const queue = new IngressQueue({ memory, owner, arena, flows })
    const publisher = new Publisher({ memory, owner, arena, journal, flows, queue, ready, messages })
    const clock = { now_us: () => this.#now_us(), steady_us: () => this.#now_us() }
    this.#timer = { clock, flows, held: new HeldTable(memory, arena), journal, publisher, owner }
    for (const writer of [front.journal, journal, ...this.#lanes.map(lane => lane.memory.journal)]) this.#watch(writer)
  }

  #watch(writer: JournalWriter): void {
    const mark = writer.mark.bind(writer)
    writer.mark = () => {
      const before = writer.unmarked()
      mark()
      if (before > 0) this.onMark()
    }
  }

  /** Values that the engine has accepted of a message, in this life or before. */
  version(message: string): number {
    return this.#front.messages.version(this.#graph.messages.get(message)!.index)
  }

  publish(message: string, value: number): void {
    this.#codec.encode(value, 'int', this.#value)
    const version = this.#front.publisher.publish(this.#graph.messages.get(message)!.route, this.#value, this.#now_us())
    if (version <= 0) throw new Error(`${message} was refused: ${version}`)
  }

  #now_us(): number {
    return Math.floor(this.#time.origin_us + this.#time.ms * 1000)
  }

  /** What the engine has to do by itself, one step of one thread. False: it had nothing to do. */
  step(): boolean {
    const who = Math.floor(this.#random() * (LANES + 2))
    if (who < LANES) {
      const busy = this.#lanes[who]!.step()
      return this.#release() || busy
    }
    if (who > LANES) {
      // Now and then what was drained waits for its commit.
      this.drain()
      if (this.#random() < 0.5) this.commit()
      return false
    }
    return this.#release()
  }

  #release(): boolean {
    for (const { route } of this.#graph.messages.values()) {
      const now_ms = this.#now_us() / 1000
      if (releaseHeld(this.#timer, route, this.#value, now_ms, true) === 'published') return true
    }
    return false
  }

  get holds(): boolean {
    return [...this.#graph.messages.values()].some(({ index }) => this.#timer.held.due(index) !== 0)
  }

  /** Every step of every thread that there is to make. */
  idle(): void {
    for (let quiet = 0; quiet < 8; ) {
      let busy = this.#release()
      for (const lane of this.#lanes) while (lane.step()) busy = true
      if (this.holds) {
        this.#time.ms += 1
        busy = true
      }
      quiet = busy ? 0 : quiet + 1
      this.drain()
    }
    this.commit()
  }

  /** The store's: up to the marks of this moment. */
  drain(): void {
    const { intake } = this.store
    if (this.#cut.drain(intake) > 0) intake.waiting.settle()
  }

  commit(): void {
    this.store.commit.run(this.store.intake, [])
    this.store.upkeep.step()
  }

  /** The file as the last commit left it. */
  image(): Buffer {
    return this.store.db.serialize()
  }

  crash(): void {
    this.store.redo.close()
    this.store.db.close()
  }

  traces(): Traces {
    const { db } = this.store
    const batch = new PointBatch()
    const decoder = new PointDecoder()
    const names = new Map(db.prepare('SELECT id, name FROM messages').raw().all() as [number, string][])
    const history: Traces['history'] = {}
    for (const name of this.#graph.messages.keys()) history[name] = []
    const take = (message: number, bytes: Buffer, at: number, end: number): void => {
      batch.clear()
      decoder.decode(bytes, at, end, batch)
      for (let i = 0; i < batch.count; i++) history[names.get(message)!]!.push([batch.version[i]!, batch.number[i]!])
    }
    for (const { message, bytes } of db.prepare('SELECT message, bytes FROM chunks').all() as {
      message: number
      bytes: Buffer
    }[])
      take(message, bytes, 0, bytes.length)
    for (const bytes of db.prepare('SELECT bytes FROM log').pluck().all() as Buffer[])
      eachGroup(bytes, (message, at, end) => take(message, bytes, at, end))
    for (const points of Object.values(history)) points.sort(([a], [b]) => a - b)

    const states: Traces['states'] = {}
    for (const { node, bytes } of db.prepare('SELECT node, bytes FROM states ORDER BY node').all() as {
      node: string
      bytes: Buffer
    }[])
      states[node] = (this.#codec.decodePlain(bytes) as KeptState).s

    const flows = new Map(db.prepare('SELECT id, name FROM flows').raw().all() as [number, string][])
    const rows = new CascadeRows()
    const epochs: number[] = []
    for (const [epoch, bytes] of db.prepare('SELECT epoch, bytes FROM cascades').raw().all() as [number, Buffer][]) {
      decodeCascades(bytes, rows)
      while (epochs.length < rows.count) epochs.push(epoch)
    }
    const get = (row: number, column: Parameters<CascadeRows['get']>[1]): number => rows.get(row, column)
    const known = new Map(epochs.map((epoch, row) => [`${epoch}.${get(row, 'seq')}`, row]))
    const cascades = Array.from({ length: rows.count }, (_, row) => {
      const of = (column: Parameters<CascadeRows['get']>[1]): number => rows.get(row, column)
      const parent_epoch = of('parent_ts') < 2 * EARLIER ? of('parent_ts') - EARLIER : epochs[row]
      const parent = known.get(`${parent_epoch}.${of('parent_seq')}`)
      const child =
        of('parent_seq') === 0
          ? ''
          : parent === undefined
            ? ' of a cascade that is not there'
            : ` of ${names.get(get(parent, 'message'))}@${get(parent, 'root_version')}`
      return `${flows.get(of('flow'))} ${names.get(of('message'))}@${of('root_version')} ${of('status')} ${of('executions')} ${of('errors')}${child}`
    })
    const open = db.prepare('SELECT flow, message, root_version FROM running').raw().all() as [number, number, number][]
    for (const [flow, message, version] of open)
      cascades.push(`${flows.get(flow)} ${names.get(message)}@${version} still open`)
    return { history, states, cascades: cascades.sort() }
  }
}
