import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import { createChecker } from '../../../protocol/values/explain.ts'
import { decodeWorkerFrame, type EngineFrame, engineFrames, type WorkerFrame } from '../../../protocol/worker/frames.ts'
import { encodeFrame, readFrame } from '../../../protocol/worker/wire.ts'
import { ROOT } from '../../kit/sources.ts'

interface Vector<Frame> {
  about: string
  hex: string
  frame: Frame
}
const vectors = JSON.parse(readFileSync(join(ROOT, 'test/conformance/worker-protocol.json'), 'utf8')) as {
  worker_to_engine: Vector<WorkerFrame>[]
  engine_to_worker: Vector<EngineFrame>[]
  refused: { about: string; hex: string }[]
}
const bytesOf = (hex: string): Buffer => Buffer.from(hex, 'hex')

/** What the decoder says of bytes that are no frame of a worker. */
function refusal(bytes: Uint8Array): { code: string; detail: string } {
  try {
    decodeWorkerFrame(bytes)
  } catch (error) {
    assert.ok(error instanceof ServiceError, `${error}`)
    return error
  }
  throw new RangeError('it was not refused')
}

describe('the vectors that every implementation runs', () => {
  test('each frame of a worker is what its bytes say, and survives being written again', () => {
    for (const { about, hex, frame } of vectors.worker_to_engine) {
      assert.deepEqual(decodeWorkerFrame(bytesOf(hex)), frame, about)
      assert.deepEqual(decodeWorkerFrame(encodeFrame(frame)), frame, about)
    }
  })

  test('each frame of an engine is what its bytes say, and survives being written again', () => {
    for (const { about, hex, frame } of vectors.engine_to_worker) {
      assert.deepEqual(readFrame(bytesOf(hex)), frame, about)
      assert.deepEqual(readFrame(encodeFrame(frame)), frame, about)
      assert.deepEqual(createChecker(engineFrames[frame.t]).refusals(frame), [], about)
    }
  })

  test('what is no frame is refused in words', () => {
    for (const { about, hex } of vectors.refused) {
      const { code, detail } = refusal(bytesOf(hex))
      assert.equal(code, 'bad_worker_frame', about)
      assert.match(detail, /^\S.*\. Send frames as docs\/worker-protocol\.md describes them\.$/, about)
    }
  })

  test('there is a vector for every type of frame', () => {
    const types = [...vectors.worker_to_engine, ...vectors.engine_to_worker].map(({ frame }) => frame.t)
    assert.equal(new Set(types).size, 21)
  })
})

test('a value at every depth that a message may have travels; one deeper does not', () => {
  const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])
  const emit = (levels: number) => encodeFrame({ t: 'emit', call: 1, outputs: { y: nested(levels) } })
  for (const levels of [0, 1, limits.VALUE_DEPTH]) decodeWorkerFrame(emit(levels))
  assert.match(refusal(emit(limits.WORKER_FRAME_DEPTH)).detail, /nested more than 68 levels/)
})

test('a frame that is too long, or of too many items, is refused before anything is made of it', () => {
  assert.equal(refusal(Buffer.alloc(limits.WORKER_FRAME_BYTES + 1)).code, 'too_large')
  const head = encodeFrame({ t: 'emit', call: 1, outputs: { y: [] } })
  const many = Buffer.alloc(limits.WORKER_FRAME_ITEMS + 8, 0xc0)
  const length = Buffer.from([0xdd, 0, 0, 0, 0])
  length.writeUInt32BE(many.length, 1)
  assert.match(refusal(Buffer.concat([head.subarray(0, -1), length, many])).detail, /more than \d+ items/)
})

test('a frame keeps nothing of the bytes that it came in', () => {
  const bytes = encodeFrame({ t: 'log', call: 1, level: 'info', text: 'a line' })
  const frame = decodeWorkerFrame(bytes)
  bytes.fill(0)
  assert.deepEqual(frame, { t: 'log', call: 1, level: 'info', text: 'a line' })
})
