import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ShownMedia } from '../../../server/panels/shown-media.ts'

/** Messages by name, each with the digest that it carries now. */
class World {
  readonly names: string[] = []
  readonly latest: (string | null)[] = []
  ms = 0
  readonly shown = new ShownMedia({
    messages: 16,
    directory: { indexOf: name => this.names.indexOf(name) },
    values: {
      version: message => (this.latest[message] === undefined ? 0 : 1),
      read: (message, out) => {
        out.number = message
        return this.latest[message] !== undefined
      },
    },
    decoder: { decode: (_kind, number) => carrying(this.latest[number] ?? null) },
    now_ms: () => this.ms,
    shown_ms: 1_000,
    most: 3,
  })

  message(name: string): number {
    return this.names.push(name) - 1
  }

  publish(name: string, digest: string | null): void {
    const message = this.names.indexOf(name)
    this.latest[message] = digest
    if (this.shown.wants(message))
      this.shown.see({
        subject: message,
        version: 1,
        ts: 0,
        value_kind: 0,
        number: message,
        bytes: Buffer.alloc(0),
        start: 0,
        length: 0,
      })
  }

  sees(digest: string, ...names: string[]): boolean {
    return this.shown.wasShown(digest, new Set(names))
  }
}
const carrying = (digest: string | null): unknown => (digest === null ? null : { digest, media_type: 'image/jpeg' })

test('what a message carries may be fetched, and for a minute what it carried before', () => {
  const world = new World()
  world.message('cam')
  world.shown.watch(new Set(['cam']))
  world.publish('cam', 'one')
  assert.equal(world.sees('one', 'cam'), true)
  assert.equal(world.sees('one', 'other'), false)
  world.publish('cam', 'two')
  world.ms = 999
  assert.deepEqual([world.sees('one', 'cam'), world.sees('two', 'cam')], [true, true])
  world.ms = 1_000
  assert.deepEqual([world.sees('one', 'cam'), world.sees('two', 'cam')], [false, true])
  world.ms = 1e9
  assert.equal(world.sees('two', 'cam'), true)
  world.publish('cam', null)
  assert.equal(world.sees('two', 'cam'), true)
  world.ms += 1_000
  assert.equal(world.sees('two', 'cam'), false)
})

test('what a message carried before anybody wanted it counts from then on', () => {
  const world = new World()
  world.message('cam')
  world.publish('cam', 'one')
  assert.equal(world.sees('one', 'cam'), false)
  world.shown.watch(new Set(['cam']))
  assert.equal(world.sees('one', 'cam'), true)
  world.shown.watch(new Set())
  assert.equal(world.sees('one', 'cam'), false)
  world.publish('cam', 'two')
  assert.equal(world.sees('two', 'cam'), false)
})

test('of a fast camera the newest frames are kept, and no more', () => {
  const world = new World()
  world.message('cam')
  world.shown.watch(new Set(['cam']))
  for (let at = 0; at < 10; at++) world.publish('cam', `d${at}`)
  const kept = Array.from({ length: 10 }, (_, at) => world.sees(`d${at}`, 'cam'))
  assert.deepEqual(kept, [false, false, false, false, false, false, false, true, true, true])
})

test('two messages with the same picture: each is one that shows it', () => {
  const world = new World()
  world.message('a')
  world.message('b')
  world.shown.watch(new Set(['a', 'b']))
  world.publish('a', 'one')
  world.publish('b', 'one')
  world.publish('a', 'two')
  world.ms = 1_000
  assert.deepEqual([world.sees('one', 'a'), world.sees('one', 'b'), world.sees('one', 'a', 'b')], [false, true, true])
})

test('a message that is deleted, and an index that gets another name, carry nothing over', () => {
  const world = new World()
  world.message('cam')
  world.shown.watch(new Set(['cam', 'late']))
  world.publish('cam', 'one')
  world.names[0] = 'late'
  world.latest[0] = 'two'
  world.shown.messagesChanged()
  assert.deepEqual(
    [world.sees('one', 'late'), world.sees('two', 'late'), world.sees('two', 'cam')],
    [false, true, false],
  )
  world.ms = 1_000
  assert.equal(world.sees('one', 'cam'), false)
  world.publish('late', 'three')
  assert.equal(world.sees('three', 'late'), true)
})
