import { parentPort, workerData } from 'node:worker_threads'
import { Clock } from '../../../core/memory/clock.ts'
import { attachMemory } from '../../../core/memory/region.ts'
import { limits } from '../../../protocol/limits.ts'
import { createCodec } from '../../../protocol/values/codec.ts'
import { threadClock } from '../../../threads/thread-clock.ts'
import type { FromCalledThread, ToCalledThread } from '../../watch/called-thread.ts'
import { CascadeReader } from '../cascades/reader.ts'
import { recordedArtifacts } from '../catalog/artifact-records.ts'
import { Blobs } from '../catalog/blobs.ts'
import { readDisk } from '../catalog/disk.ts'
import { readEvents } from '../catalog/events.ts'
import { readFires, readFiresSeen } from '../catalog/fires.ts'
import { FlowReader } from '../catalog/flow-reader.ts'
import { readNodeErrors } from '../catalog/node-errors.ts'
import { readTimeseries } from '../catalog/samples.ts'
import { databaseFile, openReader } from '../file/database.ts'
import { refusalOf } from '../file/faults.ts'
import { refusalOfRow, UnreadableRow } from '../file/unreadable.ts'
import { HistoryReader } from '../history/reader.ts'
import { RunCurves } from '../runs/curves.ts'
import { Exports } from '../runs/exports.ts'
import { LogReader } from '../runs/log-reader.ts'
import { RunReader } from '../runs/reader.ts'
import { RetainedRuns } from '../runs/retention/retained.ts'
import { RunNames } from '../runs/search/run-names.ts'
import { RunSelections } from '../runs/selection.ts'
import { SearchReader } from '../search/search-reader.ts'
import type { ReaderStart, ReadRequest } from './requests.ts'
import type { OpenedText } from './runs.ts'

type ReaderRequest = Extract<ToCalledThread<ReadRequest>, { type: 'call' }>

/** The reader thread: lists, records and history from a read-only connection of its own. It ends when its port is closed. */
if (parentPort === null) throw new TypeError('server/store/front/reader.ts runs as a worker thread')
const port = parentPort
const { data_dir, sab, answer_bytes, ...bounds } = workerData as ReaderStart

const db = openReader(databaseFile(data_dir))
const codec = createCodec()
const history = new HistoryReader(db, codec, answer_bytes)
const cascades = new CascadeReader(db)
const flows = new FlowReader(db, new Blobs(db))
const logs = new LogReader(db)
const retained = new RetainedRuns(db)
const exports = new Exports(() => openReader(databaseFile(data_dir)), bounds)
const clock = new Clock(attachMemory(sab), threadClock)
const names = new RunNames(db)
const search = new SearchReader(db, data_dir)
const runs = new RunReader(db, new RunSelections(db), new RunCurves(db), clock.now_us)

function read(request: ReadRequest): unknown {
  switch (request.type) {
    case 'text':
      return textOf(read(request.of))
    case 'history':
      return history.read(request.query, clock.now_us())
    case 'cascades':
      return cascades.list(request.query, clock.now_us())
    case 'cascade':
      return cascades.get(request.id, clock.now_us())
    case 'events':
      return readEvents(db, request.query)
    case 'commits':
      return flows.list(request.flow, request.page)
    case 'commit':
      return flows.stored(request.flow, request.hash)
    case 'commit_detail':
      return flows.shown(request.flow, request.hash)
    case 'node_errors':
      return readNodeErrors(db, codec, request.node, clock.age_us() - limits.NODE_ERROR_KEPT_MS * 1000)
    case 'fires':
      return readFires(db, request.node, request.page)
    case 'fires_seen':
      return readFiresSeen(db)
    case 'timeseries':
      return readTimeseries(db, request.query, clock.now_us())
    case 'disk':
      return readDisk(db, data_dir)
    case 'search':
      return search.search(request.text, request.limit)
    case 'recorded_artifacts':
      return recordedArtifacts(db, request.digests)
    case 'runs':
      return runs.list(request.page)
    case 'search_runs':
      return exports.openSearch(request.search, clock.now_us())
    case 'run':
      return runs.get(request.id)
    case 'run_head':
      return runs.head(request.id)
    case 'run_ids':
      return runs.idsFrom(request.from, request.most)
    case 'run_names':
      return names.near(request.names)
    case 'run_inputs':
      return runs.given(request.id)
    case 'run_output':
      return runs.output(request.id, request.name)
    case 'run_text':
      return exports.openRun(request.id, clock.now_us(), request.cancel_requested_at)
    case 'nodes_text':
      return exports.openNodes(request.id)
    case 'run_nodes':
      return runs.nodes(request.id)
    case 'run_series':
      return runs.series(request.series)
    case 'metric_names':
      return runs.metricNames(request.selection, request.runs)
    case 'cached':
      return runs.cached(request.keys)
    case 'cache_page':
      return runs.cachePage(request.page)
    case 'nearest_run':
      return runs.nearest(request.id, request.node, request.parts)
    case 'run_log':
      return logs.page(request.request)
    case 'retained_use':
      return retained.use(request.of)
    case 'retained_page':
      return retained.page(request.of, request.after, request.limit)
    case 'export_metrics':
      return exports.openMetrics(request.request)
    case 'export_runs':
      return exports.openRuns(request.request)
    case 'export_page':
      return exports.page(request.cursor, request.spare)
    case 'export_close':
      return exports.close(request.cursor)
  }
}

/** A buffer of its own, which is transferred to the caller. */
function textOf(result: unknown): Uint8Array<ArrayBuffer> {
  const text = JSON.stringify(result)
  const bytes = new Uint8Array(Buffer.byteLength(text))
  Buffer.from(bytes.buffer).write(text)
  return bytes
}

/** Pages of exports have a lower priority: all other waiting reads run first, and the port is read again between two pages. */
const pulls: ReaderRequest[] = []

function pull(): void {
  const request = pulls.shift()
  if (request !== undefined) answer(request)
  if (pulls.length > 0) setImmediate(pull)
}

function answer({ id, request }: ReaderRequest): void {
  const moved: ArrayBuffer[] = []
  let reply: FromCalledThread
  try {
    const result = read(request)
    reply = { type: 'done', id, result }
    if (result !== null && (request.type === 'export_page' || request.type === 'text'))
      moved.push((result as Uint8Array<ArrayBuffer>).buffer)
    if (result !== null && (request.type === 'run_text' || request.type === 'nodes_text'))
      moved.push((result as OpenedText).page.buffer)
  } catch (error) {
    const refusal = error instanceof UnreadableRow ? refusalOfRow(error) : refusalOf(error, data_dir)
    reply = { type: 'refused', id, problem: refusal.toJSON() }
  }
  port.postMessage(reply, moved)
}

port.on('message', (message: ToCalledThread<ReadRequest>) => {
  switch (message.type) {
    case 'call':
      if (message.request.type !== 'export_page') return answer(message)
      if (pulls.push(message) === 1) setImmediate(pull)
      break
    case 'ping':
      port.postMessage({ type: 'done', id: message.id, result: null } satisfies FromCalledThread)
      break
    case 'close':
      pulls.length = 0
      exports.end()
      search.close()
      db.close()
      port.close()
      break
    default:
      message satisfies never
  }
})
