/**
 * A process that is killed: it publishes through a ring, saves flows, and says on standard output what it was told is durable.
 *
 *   saved <version>      `saveFlow` was acknowledged
 *   flushed <version>    all values up to this version were marked before a flush that was acknowledged
 *   marked <version>     how far it got
 */
import { writeSync } from 'node:fs'
import type { StoreBounds } from '../../../server/store/file/bounds.ts'
import { Store } from '../../../server/store/front/client.ts'
import { smallMemory } from '../../kit/memory.ts'
import { Journal, saving } from '../../kit/stored.ts'

const [data_dir, bounds] = process.argv.slice(2) as [string, string]
const memory = smallMemory({ ring_bytes: 1024 * 1024 })
const { store, loaded } = await Store.start({
  data_dir,
  sab: memory.sab,
  log: text => writeSync(2, `${text}\n`),
  bounds: JSON.parse(bounds) as Partial<StoreBounds>,
})
const say = (word: string, version: number): void => void writeSync(1, `${word} ${version}\n`)
const journal = new Journal(memory, store)
const names = ['f.a', 'f.b', 'f.c', 'f.d']
let version = loaded.values.find(value => value.name === 'f.a')?.version ?? 0
for (const name of names) journal.declare(name, 'float', version)

async function save(): Promise<void> {
  for (;;) say('saved', (await store.saveFlow(saving('f', { message: 'again' }))).version)
}

async function flush(): Promise<void> {
  for (;;) {
    const before = version
    await store.flush()
    say('flushed', before)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

/** A turn: one value of each message and the state of the node, then the mark. */
function turn(): void {
  if (!journal.writer.waitForRoom(4096, () => false)) return
  version++
  for (const name of names) journal.put(name, version, Date.now() * 1000)
  journal.state('f.node', { version })
  journal.writer.mark()
}

say('started', loaded.engine_epoch)
void save()
void flush()
for (;;) {
  for (let i = 0; i < 50; i++) turn()
  say('marked', version)
  await new Promise(resolve => setTimeout(resolve, 1))
}
