import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { EngineEvent } from '../../../protocol/nouns/event.ts'
import type { RunError } from '../../../protocol/nouns/run.ts'
import type { EventWriter } from '../catalog/events.ts'
import type { Connection, Statement } from '../file/database.ts'
import type {
  AnsweredRun,
  ChangedRun,
  ClaimedRun,
  ClaimRun,
  CreatedRun,
  FinishedRun,
  FinishRun,
  LoadedRuns,
  NewRun,
  RepeatRun,
  SetUnbegun,
  StoredRun,
  WrittenProgress,
} from '../front/runs.ts'
import type { RunCounts } from './counts.ts'
import { DocumentReader, DocumentWriter, givenPart, type RunPart } from './documents.ts'
import { ProgressWriter } from './progress-writer.ts'
import {
  answeredRun,
  COUNTS,
  type CountRow,
  columnOf,
  countsOf,
  executedRun,
  headOf,
  RUN_COLUMNS,
  type RunRow,
  whole,
  written,
} from './rows.ts'

interface Moved {
  seq: number
  flow: number
}

const reason = (code: 'cancelled' | 'engine_restarted', message: string): string =>
  JSON.stringify({ code, message, node: null, stack: null } satisfies RunError)

/** Refuses more tags than a run may have. */
function refuseOver(run: string, tags: number): void {
  if (tags <= limits.RUN_TAGS) return
  throw new ServiceError('too_many_tags', `Run ${run} would have ${tags} tags; it may have ${limits.RUN_TAGS}.`)
}

/**
 * The changes of a run's status. Each is one statement that names the status before, so that of two at the same time one finds nothing:
 *
 *   queued --claim--> running --finish--> succeeded, failed, cancelled
 *   queued --requestCancel--> cancelled
 *   running --interrupt, at the next start--> failed, or queued again when it is unbegun
 *
 * `run_counts` is updated in the same transaction. Each method runs inside the caller's transaction, refuses before it writes, and depends only on
 * the file and its arguments, because the redo log calls it again after a crash.
 */
export class RunWriter {
  readonly #events: Pick<EventWriter, 'write'>
  readonly #run_counts: RunCounts
  readonly #most_queued: number
  readonly #progress: ProgressWriter
  readonly #documents: DocumentWriter
  readonly #stored: DocumentReader
  readonly #flow: Statement<number>
  readonly #byKey: Statement<RunRow>
  readonly #byId: Statement<RunRow>
  readonly #insert: Statement
  readonly #join: Statement
  readonly #tag: Statement
  readonly #untag: Statement
  readonly #note: Statement
  readonly #last: Statement<number | null>
  readonly #claim: Statement<Moved>
  readonly #finish: Statement<Moved>
  readonly #cancel: Statement<Moved>
  readonly #mark: Statement<Moved>
  readonly #running: Statement<number>
  readonly #interrupted: Statement<Moved>
  readonly #setUnbegun: Statement
  readonly #again: Statement<Moved>
  readonly #forgetNodes: Statement
  readonly #failNodes: Statement
  readonly #skipNodes: Statement
  readonly #queued: Statement<RunRow>
  readonly #counts: Statement<CountRow>

  constructor(db: Connection, events: Pick<EventWriter, 'write'>, counts: RunCounts, most_queued: number) {
    this.#events = events
    this.#run_counts = counts
    this.#most_queued = most_queued
    this.#progress = new ProgressWriter(db)
    this.#documents = new DocumentWriter(db)
    this.#stored = new DocumentReader(db)
    const pluck = <Value>(sql: string): Statement<Value> => db.prepare(sql).pluck() as Statement<Value>
    const select = `SELECT ${RUN_COLUMNS} FROM runs r`
    this.#flow = pluck('SELECT id FROM flows WHERE name = ? AND deleted = 0')
    this.#byKey = db.prepare(`${select} WHERE r.flow = ? AND r.created_by = ? AND r.idempotency_key = ?`)
    this.#byId = db.prepare(`${select} WHERE r.id = ?`)
    this.#insert = db.prepare(
      `INSERT INTO runs (id, flow, status, cause, created_by, seed, timeout, no_cache, grouped, idempotency_key, version, "commit", origin,
       origin_commit, inputs, resolved, inputs_digest, retry_of, attempt, created_at, inputs_summary, note)
       VALUES (?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#join = db.prepare(
      `INSERT OR IGNORE INTO run_groups (grouped, created_at, run, position)
       SELECT ?, created_at, seq, 1 + (SELECT count(*) FROM run_groups WHERE run = seq) FROM runs WHERE id = ? AND grouped IS NOT ?`,
    )
    this.#tag = db.prepare(
      `INSERT OR IGNORE INTO run_tags (tag, created_at, run, position)
       SELECT ?, created_at, seq, 1 + (SELECT coalesce(max(position), 0) FROM run_tags WHERE run = seq) FROM runs WHERE id = ?`,
    )
    this.#untag = db.prepare('DELETE FROM run_tags WHERE run = ?')
    this.#note = db.prepare('UPDATE runs SET note = ? WHERE seq = ?')
    this.#last = pluck('SELECT max(created_at) FROM runs')
    this.#claim = db.prepare(
      `UPDATE runs SET status = 'running', epoch = ?, code_digest = ?, code_commit = ?, origin_commit = coalesce(origin_commit, ?), started_at = ?
       WHERE id = ? AND status = 'queued' RETURNING seq, flow`,
    )
    this.#finish = db.prepare(
      `UPDATE runs SET status = ?, result = ?, result_summary = ?, terminal = ?, error = ?, finished_at = ?
       WHERE id = ? AND status = 'running' AND epoch = ? RETURNING seq, flow`,
    )
    this.#cancel = db.prepare(
      `UPDATE runs SET status = 'cancelled', cancel_requested_at = ?, finished_at = ?, error = ?
       WHERE id = ? AND status = 'queued' RETURNING seq, flow`,
    )
    this.#mark = db.prepare(
      `UPDATE runs SET cancel_requested_at = coalesce(cancel_requested_at, ?) WHERE id = ? AND status = 'running' RETURNING seq, flow`,
    )
    this.#running = pluck(`SELECT seq FROM runs WHERE id = ? AND status = 'running'`)
    // It ended at the last sign of life of the engine, or of the run itself.
    this.#interrupted = db.prepare(
      `UPDATE runs SET status = 'failed', error = ?, finished_at = max(?, coalesce(started_at, 0), coalesce(
         (SELECT max(coalesce(n.finished_at, n.started_at, n.queued_at)) FROM run_nodes n WHERE n.run = runs.seq), 0))
       WHERE status = 'running' AND epoch < ? RETURNING seq, flow`,
    )
    this.#setUnbegun = db.prepare(`UPDATE runs SET unbegun = ? WHERE id = ? AND status = 'running' AND epoch = ?`)
    this.#again = db.prepare(
      `UPDATE runs SET status = 'queued', unbegun = 0, epoch = NULL, code_digest = NULL, code_commit = NULL, started_at = NULL
       WHERE status = 'running' AND unbegun = 1 AND epoch < ? AND cancel_requested_at IS NULL RETURNING seq, flow`,
    )
    this.#forgetNodes = db.prepare('DELETE FROM run_nodes WHERE run = ?')
    this.#failNodes = db.prepare(
      `UPDATE run_nodes SET status = 'failed', error = ?, finished_at = (SELECT finished_at FROM runs WHERE seq = run)
       WHERE run = ? AND status = 'running'`,
    )
    this.#skipNodes = db.prepare(
      `UPDATE run_nodes SET status = 'skipped' WHERE run = ? AND status IN ('pending', 'queued')`,
    )
    this.#queued = db.prepare(`${select} WHERE r.status = 'queued' ORDER BY r.created_at`)
    this.#counts = db.prepare(COUNTS)
  }

  create(run: NewRun, event: EngineEvent | null, now_us: number): CreatedRun {
    const flow = this.#flow.get(run.flow)
    if (flow === undefined) throw new ServiceError('flow_not_found', `There is no flow "${run.flow}".`)
    if (run.idempotency_key !== null) {
      const there = this.#there(flow, run.created_by, run.idempotency_key, run)
      if (there !== null) return { created_at: null, there }
    }
    if (this.#run_counts.of('queued') >= this.#most_queued) {
      throw new ServiceError('too_many_runs', `${this.#most_queued} runs are queued.`)
    }
    // Strictly increasing even when the clock goes back, because lists of runs are in this order.
    const created_at = Math.max(Math.floor(now_us), (this.#last.get() ?? 0) + 1)
    const [inputs, resolved] = [columnOf(run.inputs), columnOf(run.resolved)]
    const { lastInsertRowid } = this.#insert.run(
      run.id,
      flow,
      run.cause,
      run.created_by,
      run.seed,
      run.timeout,
      run.no_cache ? 1 : 0,
      run.groups[0] ?? null,
      run.idempotency_key,
      run.version,
      run.commit,
      written(run.origin),
      run.origin_commit,
      inputs.text,
      resolved.text,
      run.inputs_digest,
      run.retry_of,
      run.attempt,
      created_at,
      inputs.summary,
      run.note ?? '',
    )
    const seq = Number(lastInsertRowid)
    this.#writeLong(seq, { inputs: inputs.long, resolved: resolved.long })
    for (const part of ['inputs', 'resolved'] as const)
      if (run.given !== undefined) this.#documents.write(seq, givenPart(part), JSON.stringify(run.given[part]))
    for (const group of run.groups.slice(1)) this.#join.run(group, run.id, group)
    // Tags and note are absent in redo logs of older releases.
    for (const tag of new Set(run.tags ?? [])) this.#tag.run(tag, run.id)
    this.#run_counts.move(flow, null, 'queued')
    if (event !== null) this.#events.write(event)
    return { created_at, there: null }
  }

  repeat({ flow: name, created_by, idempotency_key, ...added }: RepeatRun): AnsweredRun | null {
    const flow = this.#flow.get(name)
    return flow === undefined ? null : this.#there(flow, created_by, idempotency_key, added)
  }

  #there(
    flow: number,
    created_by: string,
    key: string,
    { groups, tags = [] }: Pick<RepeatRun, 'groups'> & { tags?: readonly string[] },
  ): AnsweredRun | null {
    const row = this.#byKey.get(flow, created_by, key)
    if (!row) return null
    const there = answeredRun(row)
    const missing = groups.filter(group => !there.groups.includes(group))
    const added = new Set(tags.filter(tag => !there.tags.includes(tag)))
    refuseOver(there.id, there.tags.length + added.size)
    for (const group of missing) this.#join.run(group, there.id, group)
    for (const tag of added) this.#tag.run(tag, there.id)
    return missing.length === 0 && added.size === 0 ? there : this.#answered(there.id)
  }

  change({ id, tags, add_tags = [], remove_tags = [], note }: ChangedRun, event: EngineEvent): AnsweredRun | null {
    const row = this.#byId.get(id)
    if (row === undefined) return null
    const before = headOf(row).tags
    const removed = new Set(remove_tags)
    const wanted = [...new Set([...(tags ?? before), ...add_tags])].filter(tag => !removed.has(tag))
    refuseOver(id, wanted.length)
    if (wanted.join() !== before.join()) {
      this.#untag.run(row.seq)
      for (const tag of wanted) this.#tag.run(tag, id)
    }
    if (note !== undefined) this.#note.run(note, row.seq)
    this.#events.write(event)
    return this.#answered(id)
  }

  claim({ id, epoch, code_digest, code_commit, started_at, whole: isAsked, event }: ClaimRun): ClaimedRun | null {
    const moved = this.#claim.get(epoch, code_digest, code_commit, code_commit, whole(started_at), id)
    if (!moved) return null
    this.#run_counts.move(moved.flow, 'queued', 'running')
    if (event !== null) this.#events.write(event)
    return { run: isAsked ? this.#get(id) : null }
  }

  setUnbegun({ id, epoch, unbegun }: SetUnbegun): null {
    this.#setUnbegun.run(unbegun ? 1 : 0, id, epoch)
    return null
  }

  /** When the run is not running under this epoch, its end and progress are dropped. */
  finish(finish: FinishRun, progress: WrittenProgress | null, then: ClaimRun | null): FinishedRun {
    const { id, epoch, status, result, terminal, error, finished_at, events } = finish
    const column = result === null ? null : columnOf(result)
    const moved = this.#finish.get(
      status,
      column?.text ?? null,
      column?.summary ?? null,
      JSON.stringify(terminal),
      written(error),
      whole(finished_at),
      id,
      epoch,
    )
    if (moved) {
      this.#writeLong(moved.seq, { result: column?.long ?? null })
      if (progress !== null) this.#progress.write(moved.seq, progress)
      this.#run_counts.move(moved.flow, 'running', status)
      for (const event of events) this.#events.write(event)
    }
    return { finished: moved !== undefined, claimed: then === null ? null : this.claim(then) }
  }

  requestCancel(id: string, at: number): AnsweredRun | null {
    const time = whole(at)
    const moved = this.#cancel.get(time, time, reason('cancelled', 'Cancelled before it was started.'), id)
    if (moved) this.#run_counts.move(moved.flow, 'queued', 'cancelled')
    else if (!this.#mark.get(time, id)) return null
    return this.#answered(id)
  }

  progress(progress: WrittenProgress): null {
    const seq = this.#running.get(progress.id)
    if (seq !== undefined) this.#progress.write(seq, progress)
    return null
  }

  /** Refuses with `flow_has_live_run` when the flow has queued or running runs. */
  refuseLive(name: string): void {
    const flow = this.#flow.get(name)
    if (flow === undefined) return
    const [queued, running] = [this.#run_counts.of('queued', flow), this.#run_counts.of('running', flow)]
    if (queued + running === 0) return
    throw new ServiceError('flow_has_live_run', `The flow "${name}" has ${queued} queued and ${running} running runs.`)
  }

  /** Runs that an earlier engine had claimed and not ended. Returns how many have failed; those that had not begun are queued again. */
  interrupt(epoch: number, last_sign: number): number {
    for (const { seq, flow } of this.#again.all(epoch)) {
      this.#forgetNodes.run(seq)
      this.#run_counts.move(flow, 'running', 'queued')
    }
    const error = reason('engine_restarted', 'The engine ended while it ran.')
    const moved = this.#interrupted.all(error, last_sign, epoch)
    for (const { seq, flow } of moved) {
      this.#failNodes.run(error, seq)
      this.#skipNodes.run(seq)
      this.#run_counts.move(flow, 'running', 'failed')
    }
    return moved.length
  }

  loaded(interrupted: number): LoadedRuns {
    const queued: LoadedRuns['queued'] = []
    for (const row of this.#queued.iterate()) {
      // Read it here, so that an unreadable row is found now and not at its claim.
      const { id, flow } = executedRun(row, this.#stored)
      queued.push({ id, flow })
    }
    return { queued, interrupted, counts: countsOf(this.#counts.all()) }
  }

  #writeLong(run: number, parts: { readonly [Part in RunPart]?: string | null }): void {
    for (const [part, json] of Object.entries(parts)) if (json) this.#documents.write(run, part, json)
  }

  #answered(id: string): AnsweredRun {
    return answeredRun(this.#byId.get(id)!)
  }

  #get(id: string): StoredRun {
    return executedRun(this.#byId.get(id)!, this.#stored)
  }
}
