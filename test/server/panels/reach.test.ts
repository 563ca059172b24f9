import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DashboardDocument, DashboardLock, Tile } from '../../../protocol/nouns/dashboard.ts'
import { tile } from '../../kit/panel-story.ts'
import { randomFrom, seed } from '../../kit/random.ts'
import { screens } from '../../kit/screens-double.ts'

const MESSAGES = Array.from({ length: 10 }, (_, at) => `hall.m${at}`)
const DIGESTS = Array.from({ length: 6 }, (_, at) => `sha256:${at}`)
const DASHBOARDS = ['a', 'b', 'c']

/** What a screen may do, said again as plainly as it goes, from the documents as they are. */
class Model {
  readonly documents = new Map<string, DashboardDocument>()
  shown: string[] = []
  /** Of messages that drive locks: anything but false closes. */
  readonly latest = new Map<string, unknown>()
  /** Digest -> the messages that carry it. */
  readonly carried = new Map<string, readonly string[]>()

  #tiles(): { tile: Tile; locked: DashboardLock }[] {
    return this.shown.flatMap(name => {
      const { tiles, locked } = this.documents.get(name)!
      return tiles.map(one => ({ tile: one, locked }))
    })
  }

  isClosed(lock: DashboardLock): boolean {
    return typeof lock === 'boolean' ? lock : this.latest.get(lock.message) !== false
  }

  mayPublish(message: string): boolean {
    return this.#tiles().some(({ tile: { type, settings }, locked }) => {
      if (settings['publish'] !== message) return false
      return type === 'query-chart' || !this.isClosed(locked)
    })
  }

  mayRead(message: string): boolean {
    const isLock = this.shown.some(name => {
      const { locked } = this.documents.get(name)!
      return typeof locked !== 'boolean' && locked.message === message
    })
    return isLock || this.#tiles().some(({ tile: one }) => reads(one).includes(message))
  }

  mayFetch(digest: string): boolean {
    const carriers = this.carried.get(digest) ?? []
    return this.#tiles().some(
      ({ tile: one }) => one.type === 'image' && reads(one).some(name => carriers.includes(name)),
    )
  }

  mayShow(dashboard: string): boolean {
    return this.shown.includes(dashboard)
  }
}

function reads({ type, settings }: Tile): string[] {
  const { message, messages, publish } = settings as { message?: string; messages?: string[]; publish?: string }
  if (messages !== undefined) return messages
  if (message !== undefined) return [message]
  return type === 'switch' && publish !== undefined ? [publish] : []
}

test('a panel may do what its dashboards say, whatever they, their locks and the panel become', async () => {
  const random = randomFrom(seed)
  const below = (most: number): number => Math.floor(random() * most)
  const oneOf = <Item>(items: readonly Item[]): Item => items[below(items.length)]!
  const model = new Model()
  const { dashboards, panels } = await screens({
    now_ms: () => 0,
    now: {
      isClosed: lock => model.latest.get(lock) !== false,
      wasShown: (digest, messages) => (model.carried.get(digest) ?? []).some(name => messages.has(name)),
    },
  })
  const message = (): string => oneOf(MESSAGES)
  const randomTile = (id: string): Tile => {
    switch (below(6)) {
      case 0:
        return tile(id, 'value', { message: message() })
      case 1:
        return tile(id, 'button', { publish: message(), value: 1 })
      case 2:
        return tile(id, 'switch', { publish: message(), ...(below(2) === 0 ? {} : { message: message() }) })
      case 3:
        return tile(id, 'query-chart', { publish: message(), message: message() })
      case 4:
        return tile(id, 'image', { message: message() })
      default:
        return tile(id, 'chart', { messages: [message(), message()] })
    }
  }
  const save = async (name: string): Promise<void> => {
    const locked = oneOf<DashboardLock>([true, false, { message: message() }])
    const document = { locked, tiles: Array.from({ length: below(5) }, (_, at) => randomTile(`t${at}`)) }
    await dashboards.save(name, document, undefined, 'tests')
    model.documents.set(name, document)
  }
  for (const name of DASHBOARDS) await save(name)
  const { id } = await panels.create({ name: 'wall', dashboards: [] }, 'tests')
  const { reach } = panels.standing(id)!.principal
  for (let step = 0; step < 2_000; step++) {
    const what = `seed ${seed}, step ${step}`
    switch (below(5)) {
      case 0:
        await save(oneOf(DASHBOARDS))
        break
      case 1:
        model.shown = DASHBOARDS.filter(() => below(2) === 0)
        await panels.change(id, { dashboards: model.shown })
        break
      case 2:
        if (below(4) === 0) model.latest.delete(message())
        else model.latest.set(message(), oneOf([true, false, false, 0, 'no', null]))
        break
      case 3:
        model.carried.set(oneOf(DIGESTS), [message()])
        break
      default:
        if (below(4) === 0) await panels.unpair(id)
    }
    assert.equal(panels.standing(id)!.principal.reach, reach, `${what}: the same reach`)
    for (const name of MESSAGES) {
      assert.equal(reach.mayPublish(name), model.mayPublish(name), `${what}: publish ${name}`)
      assert.equal(reach.mayRead(name), model.mayRead(name), `${what}: read ${name}`)
    }
    for (const digest of DIGESTS) assert.equal(reach.mayFetch(digest), model.mayFetch(digest), `${what}: ${digest}`)
    for (const name of DASHBOARDS) assert.equal(reach.mayShow(name), model.mayShow(name), `${what}: show ${name}`)
  }
})

test('locks that drive each other are looked at once each', async () => {
  const asked: string[] = []
  const { dashboards, panels } = await screens({
    now_ms: () => 0,
    now: {
      isClosed: lock => {
        asked.push(lock)
        return true
      },
      wasShown: () => false,
    },
  })
  // Each dashboard's switch drives the lock of the other.
  const crossed = (own: string, other: string) => ({
    locked: { message: `hall.${own}` },
    tiles: [tile('t', 'switch', { publish: `hall.${other}` }), tile('own', 'switch', { publish: `hall.${own}` })],
  })
  await dashboards.save('a', crossed('one', 'two'), undefined, 'tests')
  await dashboards.save('b', crossed('two', 'one'), undefined, 'tests')
  const { id } = await panels.create({ name: 'wall', dashboards: ['a', 'b'] }, 'tests')
  const { reach } = panels.standing(id)!.principal
  assert.equal(reach.mayPublish('hall.one'), false)
  assert.deepEqual(asked.sort(), ['hall.one', 'hall.two'])
})

test('panels with the same dashboards share one scope, and it is made once for a change', async () => {
  const { dashboards, panels } = await screens({ now_ms: () => 0 })
  await dashboards.save('a', { locked: false, tiles: [] }, undefined, 'tests')
  for (let at = 0; at < 20; at++) await panels.create({ name: `p${at}`, dashboards: ['a'] }, 'tests')
  const scopes: unknown[] = []
  panels.onScope(changes => scopes.push(...changes.map(({ after }) => after)))
  await dashboards.save('a', { locked: true, tiles: [] }, undefined, 'tests')
  assert.equal(scopes.length, 20)
  assert.equal(new Set(scopes).size, 1)
})
