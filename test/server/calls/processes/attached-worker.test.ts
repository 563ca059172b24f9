import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { limits } from '../../../../protocol/limits.ts'
import type { EngineFrame, RunFrame, WorkerFrame } from '../../../../protocol/worker/frames.ts'
import { encodeFrame, readFrame } from '../../../../protocol/worker/wire.ts'
import type { Loss } from '../../../../server/calls/body-call.ts'
import { AttachedWorker, type CallFrame } from '../../../../server/calls/processes/attached-worker.ts'
import type { Socket } from '../../../../server/http/socket.ts'
import { seed } from '../../../kit/random.ts'

const call: Omit<RunFrame, 't' | 'call'> = {
  flow: 'f',
  node: 'n',
  run: null,
  settings: {},
  inputs: {},
  state: {},
  body: { language: 'js', digest: 'a7'.repeat(32) },
  ports: { inputs: [], outputs: [] },
  allocated: null,
}
const HELLO: WorkerFrame = { t: 'hello', protocol: 2 }
const RESULT: WorkerFrame = { t: 'result', call: 1, outputs: null, state: {}, ms: 1 }

/** The engine's end of a worker's connection, with the worker's end in the test's hands. */
class Attachment {
  readonly frames: EngineFrame[] = []
  readonly said: CallFrame[] = []
  readonly lost: (Loss | null)[] = []
  ended: { code: number; reason: string } | null = null
  welcomed = 0
  now_ms = 0
  readonly worker: AttachedWorker

  constructor() {
    const socket: Pick<Socket, 'caller' | 'sendBinary' | 'end'> = {
      caller: { kind: 'worker', id: 'w1' },
      sendBinary: bytes => {
        this.frames.push(readFrame(bytes) as EngineFrame)
        return 'sent'
      },
      end: (code, reason) => (this.ended = { code, reason }),
    }
    this.worker = new AttachedWorker({
      socket: socket as Socket,
      welcome: { heartbeat_s: 10, memory_mb: null, place: null },
      now_ms: () => this.now_ms,
      welcomed: () => void this.welcomed++,
    })
  }

  says(...frames: WorkerFrame[]): this {
    for (const frame of frames) this.worker.receive(encodeFrame(frame))
    return this
  }

  runs(): this {
    this.worker.run(call, { said: frame => this.said.push(frame), lost: loss => this.lost.push(loss) })
    return this
  }

  get types(): string[] {
    return this.frames.map(frame => frame.t)
  }

  /** The refusal that cut it off. */
  get refusal(): string {
    const last = this.frames.at(-1)
    assert.ok(last?.t === 'refuse', JSON.stringify(last))
    assert.deepEqual(this.ended, { code: 1008, reason: last.code })
    assert.ok(this.worker.isGone)
    return last.code
  }
}

test('a worker says hello, is welcomed, runs a call at a time, and what it says reaches whoever gave the call', () => {
  const attached = new Attachment().says(HELLO)
  assert.deepEqual(attached.frames, [{ t: 'welcome', protocol: 2, heartbeat_s: 10, memory_mb: null, place: null }])
  attached.runs().says({ t: 'emit', call: 1, outputs: { y: 1 } })
  attached.worker.processed()
  attached.worker.cancel('enough')
  attached
    .says(RESULT)
    .runs()
    .says({ ...RESULT, call: 2 })
  assert.deepEqual(attached.types, ['welcome', 'run', 'processed', 'cancel', 'run'])
  assert.deepEqual(
    attached.said.map(frame => frame.t),
    ['emit', 'result', 'result'],
  )
  assert.deepEqual(attached.lost, [])
})

test('a worker that reports no protocol attaches; one of another is refused, and that is its end', () => {
  assert.equal(new Attachment().says({ t: 'hello' }).welcomed, 1)
  for (const protocol of [0, 1, 3]) {
    const attached = new Attachment().says({ t: 'hello', protocol })
    assert.deepEqual([attached.refusal, attached.welcomed], ['worker_protocol', 0])
    attached.says(HELLO)
    assert.equal(attached.welcomed, 0)
  }
})

test('a frame that does not belong where it comes cuts the worker off, and fails its call', () => {
  const wrong: Record<string, (attached: Attachment) => Attachment> = {
    'an emission before hello': attached => attached.says({ t: 'emit', call: 1, outputs: {} }),
    'hello twice': attached => attached.says(HELLO, HELLO),
    'a result without a call': attached => attached.says(HELLO, RESULT),
    'a second result': attached => attached.says(HELLO).runs().says(RESULT, RESULT),
    'the result of another call': attached =>
      attached
        .says(HELLO)
        .runs()
        .says({ ...RESULT, call: 2 }),
    'a frame of the engine': attached =>
      attached
        .says(HELLO)
        .runs()
        .says({ t: 'drain' } as never),
  }
  for (const [name, happens] of Object.entries(wrong)) {
    const attached = happens(new Attachment())
    assert.equal(attached.refusal, 'bad_worker_frame', name)
    assert.ok(
      attached.lost.every(loss => loss?.code === 'worker_lost'),
      name,
    )
  }
  assert.equal(wrong['the result of another call']!(new Attachment()).lost.length, 1)
})

test('a connection that ends fails its call once, whatever comes later', () => {
  const attached = new Attachment().says(HELLO).runs()
  attached.worker.closed()
  attached.worker.closed()
  attached.says(RESULT)
  assert.deepEqual([attached.lost, attached.said], [[null], []])
})

test('only heartbeats are signs of life', () => {
  const attached = new Attachment().says(HELLO).runs()
  for (attached.now_ms = 0; attached.now_ms < 300_000; attached.now_ms += 30_000) {
    attached.says({ t: 'heartbeat' })
    attached.worker.watch(attached.now_ms, 90_000)
  }
  assert.equal(attached.ended, null)
  attached.now_ms += 61_000
  attached.says({ t: 'emit', call: 1, outputs: {} })
  attached.worker.watch(attached.now_ms, 90_000)
  assert.equal(attached.refusal, 'node_silent')
  assert.equal(attached.lost[0]?.code, 'node_silent')
})

test('a worker that never says hello is cut off', () => {
  const attached = new Attachment()
  attached.worker.watch(limits.WORKER_HELLO_MS, 90_000)
  assert.equal(attached.ended, null)
  attached.worker.watch(limits.WORKER_HELLO_MS + 1, 90_000)
  assert.equal(attached.refusal, 'bad_worker_frame')
})

test('a worker that emits without end, in number or in bytes, is cut off; one that waits is not', () => {
  const emit: WorkerFrame = { t: 'emit', call: 1, outputs: { y: 1 } }
  const floods = new Attachment().says(HELLO).runs()
  for (let sent = 0; floods.ended === null; sent++) {
    assert.ok(sent <= 2 * limits.UNAWAITED_EMITS)
    floods.says(emit)
  }
  assert.deepEqual([floods.refusal, floods.lost[0]?.code], ['emit_overflow', 'emit_overflow'])
  const large = encodeFrame({ ...emit, outputs: { y: 'x'.repeat(1_000_000) } })
  const heavy = new Attachment().says(HELLO).runs()
  const most = Math.ceil(limits.WORKER_UNPROCESSED_BYTES / large.length)
  for (let sent = 1; sent < most; sent++) heavy.worker.receive(large)
  for (let again = 0; again < 3; again++) {
    heavy.worker.processed()
    heavy.worker.receive(large)
  }
  assert.equal(heavy.ended, null)
  heavy.worker.receive(large)
  assert.equal(heavy.refusal, 'emit_overflow')
})

test('lines past a hundred a second are left out and counted', () => {
  const attached = new Attachment().says(HELLO).runs()
  for (let line = 0; line < 1000; line++) attached.says({ t: 'log', call: 1, level: 'info', text: 'a line' })
  assert.equal(attached.said.length, limits.LOG_LINES_PER_NODE_PER_S)
  attached.now_ms = 1000
  attached.says({ t: 'log', call: 1, level: 'info', text: 'the next' })
  const last = attached.said.at(-1)
  assert.ok(last?.t === 'log')
  assert.equal(last.text, 'the next (900 lines of this node were left out before it)')
})

test(`whatever a worker says, in whatever order, it is heard within its call or cut off (SEED=${seed})`, () => {
  const frame: fc.Arbitrary<Uint8Array> = fc.oneof(
    fc
      .constantFrom<WorkerFrame>(
        HELLO,
        RESULT,
        { t: 'heartbeat' },
        { t: 'emit', call: 1, outputs: { y: 1 } },
        { t: 'log', call: 2, level: 'info', text: '' },
        { t: 'error', call: 1, code: 'node_error', message: '', stack: null, state: null, ms: 0 },
      )
      .map(encodeFrame),
    fc.uint8Array({ maxLength: 30 }),
  )
  const step = fc.oneof(frame, fc.constantFrom('run', 'processed', 'cancel', 'drain', 'closed', 'watch'))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), steps => {
      const attached = new Attachment()
      const { worker } = attached
      let open = 0
      for (const one of [encodeFrame(HELLO), ...steps]) {
        if (typeof one !== 'string') worker.receive(one)
        else if (one === 'run') {
          // The pool gives calls to idle workers alone.
          if (worker.isGone || open > attached.said.filter(isLast).length + attached.lost.length) continue
          attached.runs()
          open++
        } else if (one === 'watch') worker.watch(0, 90_000)
        else if (one === 'cancel') worker.cancel('enough')
        else worker[one]()
      }
      worker.closed()
      // Each call has one end.
      assert.equal(attached.said.filter(isLast).length + attached.lost.length, open)
      for (const frame of attached.said) assert.ok('call' in frame)
    }),
    { seed, numRuns: process.env['LONG'] ? 50_000 : 1_000 },
  )
})

const isLast = (frame: CallFrame): boolean => frame.t === 'result' || frame.t === 'error'
