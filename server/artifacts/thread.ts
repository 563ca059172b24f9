import { statfsSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { ServiceError } from '../../protocol/errors.ts'
import { ArtifactWriter, diskErrorOf } from '../../threads/calls/artifact-files.ts'
import type { FromCalledThread, ToCalledThread } from '../watch/called-thread.ts'
import { ArtifactFolder } from './folder.ts'
import type { ArtifactRequest, ArtifactThreadStart } from './messages.ts'

/**
 * The artifact thread: digests and writes what is uploaded, so that the front's sockets stay live meanwhile, and walks over the
 * store. It ends when its port is closed.
 */
if (parentPort === null) throw new TypeError('server/artifacts/thread.ts runs as a worker thread')
const port = parentPort
const { place } = workerData as ArtifactThreadStart

const folder = new ArtifactFolder(place.folder)
const uploads = new Map<number, ArtifactWriter>()

async function answer(request: ArtifactRequest, id: number): Promise<unknown> {
  switch (request.type) {
    case 'begin':
      if (request.length !== null) assertRoom(request.length)
      uploads.set(id, await ArtifactWriter.begin(place))
      return id
    case 'write':
      return uploads.get(request.upload)!.write(request.bytes)
    case 'finish': {
      const writer = uploads.get(request.upload)!
      uploads.delete(request.upload)
      return writer.finish()
    }
    case 'drop':
      await uploads.get(request.upload)?.drop()
      uploads.delete(request.upload)
      return null
    case 'list':
      return folder.list(request.limit, request.offset)
    case 'from':
      return folder.from(request.hex, request.most)
    case 'old':
      return folder.old(request.folder, request.before_ms)
    case 'claim':
      return folder.claim(request.hexes, request.before_ms)
    case 'settle':
      return folder.settle(request.back, request.remove)
    case 'verify':
      return folder.verify(request.after)
  }
}

/** What cannot fit is refused before its first byte. */
function assertRoom(length: number): void {
  const { bavail, bsize } = statfsSync(place.folder)
  if (length > bavail * bsize)
    throw new ServiceError('disk_full', `The disk has ${bavail * bsize} bytes left, and the artifact has ${length}.`)
}

port.on('message', async (message: ToCalledThread<ArtifactRequest>) => {
  switch (message.type) {
    case 'call':
      port.postMessage(await replyTo(message.request, message.id))
      break
    case 'ping':
      port.postMessage({ type: 'done', id: message.id, result: null } satisfies FromCalledThread)
      break
    case 'close':
      for (const writer of uploads.values()) await writer.drop()
      port.close()
      break
    default:
      message satisfies never
  }
})

async function replyTo(request: ArtifactRequest, id: number): Promise<FromCalledThread> {
  try {
    return { type: 'done', id, result: await answer(request, id) }
  } catch (error) {
    return { type: 'refused', id, problem: refusalOf(error).toJSON() }
  }
}

function refusalOf(error: unknown): ServiceError {
  const known = diskErrorOf(error)
  if (known instanceof ServiceError) return known
  return new ServiceError('store_failed', `${error instanceof Error ? error.message : String(error)}.`)
}
