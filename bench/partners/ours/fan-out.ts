/**
 * Ours in `fan-out`: the real front, its websocket, fan-out and journal tap. A value begins where a publisher writes it, in
 * the message table and the journal, and goes out as the event that a subscriber gets. Only the engine around it is left out.
 *   listen() -> {port}
 *   publish(FanOutBurst) -> FanOutSpent
 */
import { Arena } from '../../../core/memory/arena.ts'
import { KIND } from '../../../core/memory/encoded.ts'
import { JournalReader } from '../../../core/memory/journal/reader.ts'
import { JournalWriter } from '../../../core/memory/journal/writer.ts'
import { MessageTable, type ReadValue } from '../../../core/memory/messages.ts'
import { createMemory, productionSizes } from '../../../core/memory/region.ts'
import { SLOT } from '../../../core/memory/threads.ts'
import { wakeThread } from '../../../core/memory/wait.ts'
import { createCodec } from '../../../protocol/values/codec.ts'
import { SCOPES_OF } from '../../../protocol/words/scopes.ts'
import { TrustedProxies } from '../../../server/auth/client-address.ts'
import { CascadeCounts } from '../../../server/fanout/cascade-counts.ts'
import { Fanout } from '../../../server/fanout/fanout.ts'
import { FigureFeed } from '../../../server/fanout/figures/feed.ts'
import { JournalTap } from '../../../server/fanout/journal-tap.ts'
import { LogFollowers } from '../../../server/fanout/log-followers.ts'
import { FlowsSocket } from '../../../server/fanout/sockets/flows.ts'
import { createFront } from '../../../server/http/front.ts'
import { AllowedHosts } from '../../../server/http/hosts.ts'
import type { Socket } from '../../../server/http/socket.ts'
import { noActivity } from '../../../test/kit/socket-double.ts'
import { answer } from '../../partner.ts'
import { type FanOutBurst, paced } from '../fan-out-pace.ts'

const NAME = 'bench.value'
const MESSAGE = 0
const fail = (error: unknown): never => {
  throw error
}

const memory = createMemory(productionSizes)
const messages = new MessageTable(memory)
const codec = createCodec()
const scratch: ReadValue = { kind: KIND.none, number: 0, bytes: Buffer.alloc(4096), length: 0, version: 0, ts: 0 }
const directory = {
  indexOf: (name: string) => (name === NAME ? MESSAGE : -1),
  nameOf: () => NAME,
  messagesOf: () => [MESSAGE],
  isMedia: () => false,
}
const fanout = new Fanout({ values: messages, directory, decoder: codec, scratch, onDefect: fail })
const cascades = new CascadeCounts(productionSizes.flows)
const tap = new JournalTap({ memory, fanout, cascades, decoder: codec, onNote: () => {}, onDefect: fail })
const sockets: Socket[] = []
class CountedSockets extends FlowsSocket {
  override open(socket: Socket): void {
    sockets.push(socket)
    super.open(socket)
  }
  override close(socket: Socket): void {
    super.close(socket)
    sockets.splice(sockets.indexOf(socket), 1)
  }
}
const unasked = (): never => fail(new RangeError('nobody asked for figures'))
const silent = { publish: () => [], publishDurably: async () => [] }
const handlers = new CountedSockets({
  fanout,
  figures: new FigureFeed({ source: { hasFlow: () => false, flow: unasked, engine: unasked }, onDefect: fail }),
  logs: new LogFollowers({ page: () => Promise.reject(new RangeError('no run')) }, fail),
  activity: noActivity(),
  directory,
  messages: silent,
  onDefect: fail,
})
const admission = {
  principal: {
    kind: 'user',
    name: 'bench',
    actor: 'bench',
    role: 'editor',
    superuser: false,
    scopes: SCOPES_OF.editor,
  } as const,
  expires_ms: 1e15,
  holds: () => true,
}

const store = new JournalReader(memory, SLOT.front, 'store')
const nothing = { visit() {} }
const arena = new Arena(memory, SLOT.front)
const journal = new JournalWriter(memory, SLOT.front, {
  store: () => {},
  front: () => wakeThread(memory, SLOT.front),
})
const value = { kind: KIND.str, number: 0, bytes: Buffer.alloc(0), length: 0 }

/** As a publisher does it; the value is longer than fits inline in the table, so it lies in a slab. */
function publish(): void {
  const version = messages.version(MESSAGE) + 1
  const ts = Math.floor((performance.timeOrigin + performance.now()) * 1000)
  const ref = arena.allocate(value.length)
  value.bytes.copy(memory.bytes, arena.offset(ref), 0, value.length)
  arena.commit(ref)
  const displaced = messages.write(MESSAGE, version, ts, value, ref)
  messages.flip(MESSAGE, version)
  journal.value(MESSAGE, version, ts, 0, value, ref)
  if (displaced !== 0) arena.release(displaced)
}

answer({
  listen: async () => {
    const front = await createFront({
      routes: [],
      sockets: [handlers],
      admissions: { known: () => admission, admit: () => Promise.resolve(admission) },
      proxies: new TrustedProxies([]),
      hosts: new AllowedHosts([], '127.0.0.1'),
      log: { info: () => {}, warn: () => {}, error: (_event, fields) => fail(fields) },
    })
    fanout.attach(front)
    tap.start()
    return { port: await front.listen('127.0.0.1', 0) }
  },
  publish: ({ values, reading, text }: FanOutBurst) => {
    value.bytes = Buffer.from(text)
    value.length = value.bytes.length
    const buffered = (): number[] => sockets.slice(0, reading).map(socket => socket.bufferedAmount())
    return paced(values, buffered, publish, () => {
      store.drain(nothing, 1 << 20)
      journal.mark()
    })
  },
})
