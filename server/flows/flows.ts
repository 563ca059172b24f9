import { documentOfPieces } from '../../core/flow/document-text.ts'
import { factsOf } from '../../core/flow/facts.ts'
import type { Plan, PlanNode } from '../../core/flow/plan.ts'
import type { Steps } from '../../core/steps.ts'
import { ServiceError } from '../../protocol/errors.ts'
import type {
  CreateFlow,
  Flow,
  FlowCommit,
  FlowSummary,
  PurgedFlow,
  SavedFlow,
  SaveFlow,
} from '../../protocol/nouns/flow.ts'
import type { NormalDocument } from '../../protocol/nouns/flow-document.ts'
import type { List, Page } from '../../protocol/nouns/list.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'
import type { PlanBytes } from '../../threads/lane/plan-bytes.ts'
import type { SeenFires } from '../../threads/timer/messages.ts'
import type { Store } from '../store/front/client.ts'
import type { StoredFlow } from '../store/front/replies.ts'
import { inSlices } from '../watch/slices.ts'
import { Catalog } from './catalog.ts'
import { type CheckedFlow, check } from './changes/check.ts'
import { Deploy, type DeployParts } from './changes/deploy.ts'
import { type EnableParts, enable } from './changes/enable.ts'
import { type PurgeParts, purge } from './changes/purge.ts'
import { type RemoveParts, remove } from './changes/remove.ts'
import { type RenameParts, rename } from './changes/rename.ts'
import { type SaveParts, save } from './changes/save.ts'
import { draftNode, type NodeDraft } from './draft.ts'
import { type LiveFlow, newFlow, written } from './flow.ts'
import { type FlowTrouble, IssueCounts } from './issue-counts.ts'
import { Show, type ShowParts } from './show.ts'

export interface Flows {
  list(page: Page): List<FlowSummary>
  get(name: string): Flow
  /** 409 `flow_exists` when there is one. `may`: as for `save`. */
  create(request: CreateFlow, author: string, may?: 'edit' | 'code'): Promise<SavedFlow>
  /** Creates or replaces. An author who may only `edit` is refused (`forbidden`) when a body is new or another; `code` when absent. */
  save(name: string, request: SaveFlow, author: string, may?: 'edit' | 'code'): Promise<SavedFlow>
  /** What a save of the document would do to the nodes that run; refused as the save would be. Changes nothing. */
  check(name: string, document: SaveFlow['document'], may?: 'edit' | 'code'): Promise<CheckedFlow>
  remove(name: string, author: string): Promise<void>
  rename(name: string, to: string, author: string): Promise<SavedFlow>
  setEnabled(name: string, enabled: boolean, author: string): Promise<SavedFlow>
  /** Drops what waits in the flow; what runs goes on. */
  purge(name: string, author: string): Promise<PurgedFlow>
  history(name: string, page: Page): Promise<List<FlowCommit>>
  /** `FlowCommitDetail` as JSON. */
  commitText(name: string, commit: string): Promise<Uint8Array>
  restore(name: string, commit: string, author: string): Promise<SavedFlow>
  source(name: string, node: string): { source: string; missing: boolean }
}

type Built = 'catalog' | 'deploy' | 'show'
export interface LiveFlowsParts
  extends Omit<
    DeployParts & ShowParts & SaveParts & RemoveParts & EnableParts & RenameParts & PurgeParts,
    Built | 'store'
  > {
  store: Store
}

/** The flows: checked, stored, and made to run. Each change is a file of its own; here is who calls it, and in which order. */
export class LiveFlows implements Flows {
  readonly #catalog = new Catalog()
  readonly #deploy: Deploy
  readonly #show: Show
  readonly #issue_counts: IssueCounts
  readonly #parts: LiveFlowsParts & { catalog: Catalog; deploy: Deploy; show: Show }
  #last: Promise<unknown> = Promise.resolve()

  constructor(parts: LiveFlowsParts) {
    const catalog = this.#catalog
    this.#deploy = new Deploy({ ...parts, catalog })
    this.#show = new Show({ ...parts, catalog })
    this.#issue_counts = new IssueCounts({ ...parts, catalog })
    this.#parts = { ...parts, catalog, deploy: this.#deploy, show: this.#show }
  }

  // ---- what runs

  plans(): Iterable<Plan> {
    return this.#catalog.plans()
  }

  planBytes(): Iterable<PlanBytes> {
    return this.#catalog.planBytes()
  }

  all(): Iterable<LiveFlow> {
    return this.#catalog.all()
  }

  find(name: string): LiveFlow | undefined {
    return this.#catalog.find(name)
  }

  /** Throws `flow_not_found`. */
  existing(name: string): LiveFlow {
    return this.#catalog.existing(name)
  }

  /** The dtype of a message of any flow; null while nobody declares it. */
  dtypeOf(flow: string, message: string): Dtype | null {
    return this.#catalog.dtypeOf(flow, message)
  }

  cyclesThrough(flow: string): string[][] {
    return this.#catalog.wiring.cyclesThrough(flow)
  }

  /** The node of a flow as a draft would make it; throws what a save would be refused with. */
  draft(name: string, id: string, draft: NodeDraft): Promise<PlanNode> {
    return this.inTurn(() => draftNode(this.#parts, name, id, draft))
  }

  /** By name: how much is wrong with each flow. */
  troubles(): Steps<ReadonlyMap<string, FlowTrouble>> {
    return this.#issue_counts.all()
  }

  /** What a batch run of the flow as of `commit` executes. */
  async runnable(name: string, commit: string): Promise<{ plan: Plan; document: NormalDocument }> {
    const deployed = (): { plan: Plan; document: NormalDocument } | null => {
      const flow = this.#catalog.find(name)
      // A save that is under way has its document and not its plan yet.
      const isWhole = flow?.commit === commit && flow.plan.version === flow.version
      return isWhole ? { plan: flow.plan, document: flow.document } : null
    }
    return (
      deployed() ??
      this.inTurn(async () => {
        const there = deployed()
        if (there !== null) return there
        const { document } = await this.#committed(name, commit)
        const version = this.#catalog.find(name)?.version ?? 0
        const plan = await this.#deploy.compile({ name, version, enabled: true, document })
        return { plan, document }
      })
    )
  }

  /** What a start found in the store. Nobody else runs yet. `since`: with which version nodes that have a state began. */
  load(stored: readonly StoredFlow[], since: ReadonlyMap<string, number>): void {
    for (const flow of stored) this.#catalog.wiring.set(factsOf(flow.name, flow.document, flow.enabled))
    this.#deploy.load(
      stored.map(({ name, document, version, commit, updated_at, ...rest }) => {
        const flow = newFlow(name, this.#parts.names.flow(name), document)
        written(flow, { version, commit, at: updated_at })
        for (const { id } of document.nodes) {
          const began = since.get(`${name}.${id}`)
          if (began !== undefined) flow.since.set(id, began)
        }
        return Object.assign(flow, rest)
      }),
    )
  }

  /** Timers begin, and `once` injects fire. */
  startTimers(seen: ReadonlyMap<string, SeenFires>): void {
    this.#deploy.startTimers(seen)
  }

  startConnectors(): void {
    this.#deploy.startConnectors()
  }

  // ---- reading

  list(page: Page): List<FlowSummary> {
    return this.#show.list(page)
  }

  get(name: string): Flow {
    return this.#show.flow(this.#catalog.existing(name))
  }

  source(name: string, node: string): { source: string; missing: boolean } {
    return this.#show.source(name, node)
  }

  history(name: string, page: Page): Promise<List<FlowCommit>> {
    return this.#show.history(name, page)
  }

  commitText(name: string, commit: string): Promise<Uint8Array> {
    return this.#parts.store.commitText(name, commit)
  }

  // ---- changing

  create(request: CreateFlow, author: string, may: 'edit' | 'code' = 'code'): Promise<SavedFlow> {
    const { name, ...rest } = request
    return this.inTurn(() => {
      if (this.#catalog.find(name)) throw new ServiceError('flow_exists', `Flow "${name}" exists already.`)
      return save(this.#parts, name, rest, { author, may }, 'save')
    })
  }

  save(name: string, request: SaveFlow, author: string, may: 'edit' | 'code' = 'code'): Promise<SavedFlow> {
    return this.inTurn(() => save(this.#parts, name, request, { author, may }, 'save'))
  }

  check(name: string, document: SaveFlow['document'], may: 'edit' | 'code' = 'code'): Promise<CheckedFlow> {
    return this.inTurn(() => check(this.#parts, name, document, may))
  }

  restore(name: string, commit: string, author: string): Promise<SavedFlow> {
    return this.inTurn(async () => {
      const { document, origin } = await this.#committed(name, commit)
      // Its own origin, whose digests are those of its bodies.
      const request = { document, origin, message: `restore ${commit.slice(0, 12)}` } as SaveFlow
      return save(this.#parts, name, request, { author, may: 'code' }, 'restore')
    })
  }

  remove(name: string, author: string): Promise<void> {
    return this.inTurn(() => remove(this.#parts, name, author))
  }

  setEnabled(name: string, enabled: boolean, author: string): Promise<SavedFlow> {
    return this.inTurn(() => enable(this.#parts, name, enabled, author))
  }

  /** In no turn: changes do not wait for a lane that is busy. */
  purge(name: string, author: string): Promise<PurgedFlow> {
    return purge(this.#parts, name, author)
  }

  rename(from: string, to: string, author: string): Promise<SavedFlow> {
    return this.inTurn(() => rename(this.#parts, from, to, author))
  }

  async #committed(name: string, commit: string) {
    const { document, origin } = await this.#parts.store.commit(name, commit)
    if (document === null) throw new ServiceError('commit_not_found', `Commit ${commit} of "${name}" has no document.`)
    return { document: await inSlices(documentOfPieces(document)), origin }
  }

  /** One change at a time: what one check has seen holds until its deploy. */
  inTurn<Result>(change: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(change, change)
    this.#last = turn.catch(() => undefined)
    return turn
  }
}
