import { workerData } from 'node:worker_threads'
import { attachMemory } from '../../core/memory/region.ts'
import { JournalPublisher } from './journal-room.ts'
import { randomFrom } from './random.ts'

/** A thread that publishes random messages in turns of random length, as a lane does. */
const { sab, slot, messages, values, seed } = workerData as {
  sab: SharedArrayBuffer
  slot: number
  messages: number
  values: number
  seed: number
}
const random = randomFrom(seed)
const publisher = new JournalPublisher(attachMemory(sab), slot)
for (let left = values; left > 0; ) {
  if (!publisher.journal.waitForRoom(64 * 256, () => false)) throw new RangeError('no room for a turn')
  for (let turn = Math.min(left, 1 + Math.floor(random() * 200)); turn > 0; turn--, left--)
    publisher.publish(Math.floor(random() * messages), left)
  publisher.journal.mark()
}
