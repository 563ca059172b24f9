import type { FlowDocument } from '../../protocol/nouns/flow-document.ts'
import type { CreateRun, Run, RunNode } from '../../protocol/nouns/run.ts'
import { isLive } from '../../protocol/words/run-status.ts'
import type { Engine } from '../../server/engine.ts'
import { eventually } from './live-engine.ts'

/** A running engine in the words of the tests of batch runs. */
export class BatchStory {
  readonly engine: Engine

  constructor(engine: Engine) {
    this.engine = engine
  }

  save(name: string, document: FlowDocument) {
    return this.engine.flows.save(name, { document }, 'tests')
  }

  async create(flow: string, request: CreateRun = {}): Promise<Run> {
    return (await this.engine.runs.create(flow, request, 'tests')).run
  }

  /** Creates a run and waits for its end. */
  async runs(flow: string, request: CreateRun = {}): Promise<Run> {
    return this.ended((await this.create(flow, request)).id)
  }

  async ended(id: string): Promise<Run> {
    await this.until(id, run => !isLive(run.status), 'has ended')
    return this.engine.runs.get(id)
  }

  until(id: string, condition: (run: Run) => boolean, what: string): Promise<void> {
    return eventually(async () => condition(await this.engine.runs.get(id)), `run ${id} ${what}`)
  }

  async nodes(id: string): Promise<RunNode[]> {
    return (await this.engine.runs.nodes(id)).items
  }

  async node(id: string, node: string): Promise<RunNode> {
    return (await this.nodes(id)).find(one => one.node === node)!
  }

  async statuses(id: string): Promise<Record<string, string>> {
    return Object.fromEntries((await this.nodes(id)).map(({ node, status }) => [node, status]))
  }
}
