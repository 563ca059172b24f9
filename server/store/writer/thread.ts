import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { Clock } from '../../../core/memory/clock.ts'
import { attachMemory } from '../../../core/memory/region.ts'
import { SLOT, THREAD_KIND, ThreadTable } from '../../../core/memory/threads.ts'
import { threadClock } from '../../../threads/thread-clock.ts'
import { refusalOf } from '../file/faults.ts'
import type { Answer, StoreReply } from '../front/replies.ts'
import type { RunWrite, StoreRequest, StoreStart } from '../front/requests.ts'
import { EngineStore } from './engine-store.ts'
import { StoreLoop } from './store-loop.ts'

/** The store thread: the only writer of the file. Ends by itself after `close`. */
if (parentPort === null) throw new TypeError('server/store/writer/thread.ts runs as a worker thread')
const port = parentPort
const { data_dir, sab, bounds } = workerData as StoreStart
const send = (reply: StoreReply): void => port.postMessage(reply)

const memory = attachMemory(sab)
const threads = new ThreadTable(memory)
const owner = threads.enter(SLOT.store, THREAD_KIND.store)
const clock = new Clock(memory, threadClock)

/** Takes requests that came while the store was being opened, or that come during a drain. */
const readPort = (): void => {
  for (let got = receiveMessageOnPort(port); got; got = receiveMessageOnPort(port))
    takeAll(got.message as StoreRequest[])
}

const answer = (answers: Answer[]): void => send({ type: 'answers', answers, unseen: store!.transaction.isOpen })

function open(): EngineStore | null {
  try {
    return new EngineStore({
      data_dir,
      bounds,
      messages: memory.sizes.messages,
      clock: clock.now_us,
      age_us: clock.age_us,
      steady_us: clock.steady_us,
      readPort,
      onHealth: health => send({ type: 'health', health }),
      log: text => send({ type: 'log', text }),
      onDamage: damage => send({ type: 'damaged', damage }),
    })
  } catch (error) {
    send({ type: 'not_started', problem: refusalOf(error, data_dir).toJSON() })
    return null
  }
}

const closers: number[] = []
const store = open()
const loop =
  store === null ? null : new StoreLoop(store, memory, bounds, { readPort, answer, now_ms: () => performance.now() })

function takeAll(requests: readonly StoreRequest[]): void {
  for (const request of requests) take(request)
}

function take(request: StoreRequest): void {
  switch (request.type) {
    case 'control':
      loop!.control({ id: request.id, request: request.request })
      return
    case 'run_write': {
      const { id, text } = request
      loop!.control({ id, text, request: JSON.parse(text) as RunWrite })
      return
    }
    case 'users': {
      const { users } = store!
      const result = request.name === null ? users.list() : users.get(request.name)
      answer([{ id: request.id, result }])
      return
    }
    case 'records':
      answer([{ id: request.id, result: store!.records.list(request.range) }])
      return
    case 'ping':
      answer([{ id: request.id, result: null }])
      return
    case 'register':
      store!.registry.register(request.registration)
      loop!.poke()
      return
    case 'resumed':
      store!.intake.resumed(request.flows)
      loop!.poke()
      return
    case 'events':
      store!.commit.events.push(...request.events)
      loop!.poke()
      return
    case 'sample':
      store!.commit.samples.push(request.sample)
      loop!.poke()
      return
    case 'close':
      closers.push(request.id)
      loop!.close()
      return
    default:
      request satisfies never
  }
}

if (store !== null && loop !== null) {
  send({ type: 'loaded', loaded: store.loaded })
  port.on('message', takeAll)
  await loop.run()
  for (const id of closers) send({ type: 'answers', answers: [{ id, result: null }], unseen: false })
}
threads.leave(owner)
port.close()
