import { Arena } from '../../core/memory/arena.ts'
import { JournalReader } from '../../core/memory/journal/reader.ts'
import { JournalWriter } from '../../core/memory/journal/writer.ts'
import { MessageTable } from '../../core/memory/messages.ts'
import { createMemory, type Memory, type MemorySizes } from '../../core/memory/region.ts'
import { SLOT, THREAD_KIND, ThreadTable } from '../../core/memory/threads.ts'
import { lockWord, unlockWord, wakeThread } from '../../core/memory/wait.ts'
import type { Codec } from '../../protocol/values/codec.ts'
import { createCodec, newEncoded } from '../../protocol/values/codec.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'
import { KIND } from '../../protocol/values/encoded.ts'

export const smallSizes: MemorySizes = {
  flows: 64,
  messages: 256,
  nodes: 64,
  wires: 16,
  threads: 24,
  rings: 24,
  begun_rows: 8,
  ring_bytes: 64 * 1024,
  queue_segments: 64,
  arena_bytes: 8 * 1024 * 1024,
  book_claims: 32,
  book_waiting: 32,
}

/** Any word that no part uses in these tests; the publishers' lock. */
const LOCK = (memory: Memory): number => memory.regions.ready.offset >> 2

/** A thread that publishes into the message table and its own journal ring, in the order in which the engine does. */
export class JournalPublisher {
  readonly journal: JournalWriter
  readonly #memory: Memory
  readonly #messages: MessageTable
  readonly #arena: Arena
  readonly #owner: number
  readonly #codec: Codec = createCodec()
  readonly #value = newEncoded()

  constructor(memory: Memory, slot: number) {
    this.#memory = memory
    this.#owner = new ThreadTable(memory).enter(slot, THREAD_KIND.lane)
    this.#messages = new MessageTable(memory)
    this.#arena = new Arena(memory, slot)
    this.journal = new JournalWriter(memory, slot, {
      store: () => {},
      front: () => wakeThread(memory, SLOT.front),
    })
  }

  /** Answers the version. Nobody is woken before `mark`. */
  publish(message: number, value: unknown, dtype: Dtype = 'float', ts = 1_767_225_600_000_000): number {
    const encoded = this.#value
    const refusal = this.#codec.encode(value, dtype, encoded)
    if (refusal !== null) throw new RangeError(refusal.text)
    const inline = encoded.kind === KIND.float || encoded.length <= 80
    const ref = inline ? 0 : this.#arena.allocate(encoded.length)
    if (ref !== 0) {
      encoded.bytes.copy(this.#memory.bytes, this.#arena.offset(ref), 0, encoded.length)
      this.#arena.commit(ref)
    }
    lockWord(this.#memory, LOCK(this.#memory), this.#owner)
    const version = this.#messages.version(message) + 1
    const displaced = this.#messages.write(message, version, ts, encoded, ref)
    this.#messages.flip(message, version)
    this.journal.value(message, version, ts, 0, encoded, ref)
    unlockWord(this.#memory, LOCK(this.#memory), this.#owner)
    if (displaced !== 0) this.#arena.release(displaced)
    return version
  }

  note(note: unknown): void {
    const bytes = this.#codec.encodePlain(note)
    this.journal.blob(5, 0, 0, bytes, bytes.length)
  }

  /** Publishes and wakes the front. */
  say(message: number, value: unknown, dtype: Dtype = 'float'): number {
    const version = this.publish(message, value, dtype)
    this.journal.mark()
    return version
  }
}

/** The store's end of the rings, which forgets what it reads so that the writers have room. */
export class ForgetfulStore {
  readonly #readers: JournalReader[]
  readonly #nothing = { visit() {} }

  constructor(memory: Memory, slots: readonly number[]) {
    this.#readers = slots.map(slot => new JournalReader(memory, slot, 'store'))
  }

  forget(): void {
    for (const reader of this.#readers) while (reader.drain(this.#nothing, 1 << 20) > 0);
  }
}

export const smallMemory = (ring_bytes: number = smallSizes.ring_bytes): Memory =>
  createMemory({ ...smallSizes, ring_bytes })
