import { parentPort, workerData } from 'node:worker_threads'
import { createCodec } from '../../protocol/codec.ts'
import { limits } from '../../protocol/limits.ts'
import { Blobs } from './blobs.ts'
import { CascadeReader } from './cascade-reader.ts'
import { databaseFile, openReader } from './database.ts'
import { readDisk } from './disk-reader.ts'
import { readEvents } from './events.ts'
import { refusalOf } from './failures.ts'
import { FlowReader } from './flow-reader.ts'
import { HistoryReader } from './history-reader.ts'
import { readNodeErrors } from './node-errors.ts'
import type { ReaderReply } from './replies.ts'
import type { ReaderRequest, ReaderStart, ReadRequest } from './requests.ts'
import { readTimeseries } from './samples.ts'

/** The reader thread: lists, records and history from a read-only connection of its own. It ends when its port is closed. */
if (parentPort === null) throw new TypeError('server/store/reader.ts runs as a worker thread')
const port = parentPort
const { data_dir, answer_bytes } = workerData as ReaderStart

const db = openReader(databaseFile(data_dir))
const codec = createCodec()
const history = new HistoryReader(db, codec, answer_bytes)
const cascades = new CascadeReader(db)
const flows = new FlowReader(db, new Blobs(db))
const clock = (): number => Date.now() * 1000

function read(request: ReadRequest): unknown {
  switch (request.type) {
    case 'history':
      return history.read(request.query, clock())
    case 'cascades':
      return cascades.list(request.query, clock())
    case 'cascade':
      return cascades.get(request.id, clock())
    case 'events':
      return readEvents(db, request.query)
    case 'commits':
      return flows.list(request.flow, request.page)
    case 'commit':
      return flows.detail(request.flow, request.hash)
    case 'node_errors':
      return readNodeErrors(db, codec, request.node, clock() - limits.NODE_ERROR_KEPT_MS * 1000)
    case 'timeseries':
      return readTimeseries(db, request.query, clock())
    case 'disk':
      return readDisk(db, data_dir)
  }
}

port.on('message', (request: ReaderRequest | 'close') => {
  if (request === 'close') {
    db.close()
    port.close()
    return
  }
  let reply: ReaderReply
  try {
    reply = { type: 'done', id: request.id, result: read(request.request) }
  } catch (error) {
    reply = { type: 'refused', id: request.id, problem: refusalOf(error, data_dir).toJSON() }
  }
  port.postMessage(reply)
})
