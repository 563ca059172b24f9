import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { closeSync, readFileSync } from 'node:fs'
import { after, beforeEach, describe, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import type { ArtifactSweep } from '../../../protocol/nouns/artifact.ts'
import type { EngineArtifacts } from '../../../server/artifacts/artifacts.ts'
import type { ArtifactRule } from '../../../server/artifacts/sweep.ts'
import { openArtifact } from '../../../threads/calls/artifact-files.ts'
import { artifactsOf, directoryOfProcess } from '../../kit/artifacts.ts'
import { eventually } from '../../kit/live-engine.ts'
import { randomFrom, seed } from '../../kit/random.ts'
import { pieces, StoredFiles } from '../../kit/stored-artifacts.ts'

/** What runs record, what messages hold, whether a run is in flight, and what happens while the sweep asks. */
class World {
  recorded = new Set<string>()
  held = new Set<string>()
  in_flight = false
  looks = 0
  /** Called at each look, by its number. */
  meanwhile: (look: number) => Promise<void> | void = () => {}
  readonly reports: ArtifactSweep[] = []
  /** `over_bytes` of what was told. */
  readonly told: number[] = []
  readonly failures: unknown[] = []
  readonly artifacts: EngineArtifacts
  readonly files: StoredFiles

  constructor(interval_s = 0, rule: ArtifactRule = { days: 0, bytes: 0 }) {
    const data_dir = directoryOfProcess()
    this.files = new StoredFiles(data_dir)
    this.artifacts = artifactsOf({
      data_dir,
      interval_s,
      rule,
      recorded: async digests => new Set(digests.filter(digest => this.recorded.has(digest))),
      held: async () => {
        await this.meanwhile(++this.looks)
        return new Set(this.held)
      },
      isRunInFlight: () => this.in_flight,
      swept: report => this.reports.push(report),
      overBudget: ({ over_bytes }) => this.told.push(over_bytes),
      failed: error => this.failures.push(error),
    })
  }

  reset(): void {
    this.files.clear()
    this.recorded.clear()
    this.held.clear()
    this.in_flight = false
    this.looks = 0
    this.meanwhile = () => {}
    this.reports.length = 0
  }

  /** Stored, and as if that had been two hours ago. */
  async old(text: string): Promise<string> {
    const digest = await this.fresh(text)
    this.files.age(digest, 2 * limits.ARTIFACT_SPARED_S)
    return digest
  }

  async fresh(text: string): Promise<string> {
    return (await this.artifacts.put(pieces(Buffer.from(text)), text.length)).digest
  }
}

const worlds: World[] = []
const newWorld = (interval_s?: number, rule?: ArtifactRule): World => {
  const made = new World(interval_s, rule)
  worlds.push(made)
  return made
}
/** One for most tests: its thread takes longer to start than they to run. */
const world = newWorld()
beforeEach(() => world.reset())
after(async () => {
  for (const { artifacts } of worlds) await artifacts.close()
})

describe('a sweep', () => {
  test('removes what is old and needed by nobody, and keeps what a run records, a message holds, or was stored a moment ago', async () => {
    const [lost, another, recorded, held] = [
      await world.old('lost'),
      await world.old('another'),
      await world.old('recorded'),
      await world.old('held'),
    ]
    const fresh = await world.fresh('fresh')
    world.recorded.add(recorded)
    world.held.add(held)
    const report = await world.artifacts.sweep()
    assert.deepEqual(report, {
      stood_aside: false,
      seen: 5,
      spared: 1,
      recorded: 1,
      held: 1,
      removed: 2,
      removed_bytes: 'lost'.length + 'another'.length,
      bytes: 'recorded'.length + 'held'.length + 'fresh'.length,
      over_bytes: 0,
    })
    assert.deepEqual(
      [lost, another, recorded, held, fresh].map(digest => world.artifacts.has(digest)),
      [false, false, true, true, true],
    )
    assert.deepEqual(world.files.leftOver(), [])
    assert.deepEqual(world.reports, [report])
  })

  test('spares what was stored within the hour to the second, and what was stored again', async () => {
    const digest = await world.fresh('x')
    world.files.age(digest, limits.ARTIFACT_SPARED_S - 60)
    assert.equal((await world.artifacts.sweep()).removed, 0)
    world.files.age(digest, limits.ARTIFACT_SPARED_S + 60)
    await world.fresh('x')
    assert.equal((await world.artifacts.sweep()).removed, 0)
    world.files.age(digest, limits.ARTIFACT_SPARED_S + 60)
    assert.equal((await world.artifacts.sweep()).removed, 1)
  })

  test('stands aside while a run is in flight, from its start or from its middle', async () => {
    const digest = await world.old('x')
    world.in_flight = true
    assert.equal((await world.artifacts.sweep()).stood_aside, true)
    assert.equal(world.looks, 0)
    world.in_flight = false
    world.meanwhile = () => {
      world.in_flight = true
    }
    const report = await world.artifacts.sweep()
    assert.deepEqual([report.removed, report.stood_aside], [0, true])
    assert.equal(world.files.has(digest), true)
    assert.deepEqual(world.files.leftOver(), [])
  })

  test('is one at a time: who asks while one is under way gets that one', async () => {
    await world.old('x')
    const [first, second] = await Promise.all([world.artifacts.sweep(), world.artifacts.sweep()])
    assert.equal(first, second)
    assert.equal(world.reports.length, 1)
  })

  test('comes by itself after the interval, again and again, and never with an interval of 0', async () => {
    const often = newWorld(0.02)
    const never = newWorld(0)
    for (const { artifacts } of [often, never]) artifacts.start()
    await eventually(() => often.reports.length >= 2, 'two sweeps')
    assert.deepEqual(never.reports, [])
    await often.artifacts.close()
    const swept = often.reports.length
    await new Promise(resolve => setTimeout(resolve, 60))
    assert.equal(often.reports.length, swept)
    assert.deepEqual(often.failures, [])
  })

  test('that cannot ask puts everything back and tells why', async () => {
    const digest = await world.old('x')
    world.meanwhile = look => {
      if (look === 2) throw new RangeError('no answer')
    }
    await assert.rejects(world.artifacts.sweep(), /no answer/)
    assert.equal(world.files.has(digest), true)
    assert.deepEqual(world.files.leftOver(), [])
    world.meanwhile = () => {}
    assert.equal((await world.artifacts.sweep()).removed, 1)
  })
})

describe('a rule for artifacts', () => {
  const HOUR_S = 3_600
  const DAY_S = 24 * HOUR_S
  const KIB = 1024
  const text = (name: string): string => name.padEnd(KIB, '.')
  const kept = async (world: World, ages_s: Record<string, number>): Promise<Map<string, string>> => {
    const digests = new Map<string, string>()
    for (const [name, age_s] of Object.entries(ages_s)) {
      const digest = await world.fresh(text(name))
      world.files.age(digest, age_s)
      digests.set(name, digest)
    }
    return digests
  }
  const left = (world: World, digests: ReadonlyMap<string, string>): string[] =>
    [...digests].filter(([, digest]) => world.files.has(digest)).map(([name]) => name)

  test('of days keeps what nobody uses for so long', async () => {
    const world = newWorld(0, { days: 7, bytes: 0 })
    const digests = await kept(world, { hours: 5 * HOUR_S, days: 6 * DAY_S, week: 8 * DAY_S, used: 9 * DAY_S })
    world.recorded.add(digests.get('used')!)
    const { spared, removed, bytes, over_bytes } = await world.artifacts.sweep()
    assert.deepEqual(left(world, digests), ['hours', 'days', 'used'])
    assert.deepEqual([spared, removed, bytes, over_bytes], [2, 1, 3 * KIB, 0])
  })

  test('of bytes lets the oldest unused ones go before their days are over, and no more of them than it needs', async () => {
    const world = newWorld(0, { days: 30, bytes: 4 * KIB })
    const ages = { used: 20, held: 19, oldest: 9, older: 8, newer: 3, newest: 2 }
    const digests = await kept(
      world,
      Object.fromEntries(Object.entries(ages).map(([name, days]) => [name, days * DAY_S])),
    )
    world.recorded.add(digests.get('used')!)
    world.held.add(digests.get('held')!)
    const { removed, bytes, over_bytes } = await world.artifacts.sweep()
    assert.deepEqual(left(world, digests), ['used', 'held', 'newer', 'newest'])
    assert.deepEqual([removed, bytes, over_bytes], [2, 4 * KIB, 0])
    assert.deepEqual(world.told, [])
    assert.deepEqual(world.files.leftOver(), [])
  })

  test('never takes what a run records, a message names or the last hour brought: that is told, once', async () => {
    const world = newWorld(0, { days: 30, bytes: KIB })
    const digests = await kept(world, { used: DAY_S, held: DAY_S, lost: DAY_S, fresh: 0 })
    world.recorded.add(digests.get('used')!)
    world.held.add(digests.get('held')!)
    for (let sweep = 0; sweep < 2; sweep++) {
      const { over_bytes } = await world.artifacts.sweep()
      assert.deepEqual(left(world, digests), ['used', 'held', 'fresh'])
      assert.equal(over_bytes, 2 * KIB)
    }
    assert.deepEqual(world.told, [2 * KIB])
    assert.deepEqual(world.artifacts.disk(), [{ class: 'artifacts', bytes: 3 * KIB, budget_bytes: KIB }])
    // The runs and messages have gone, and come back.
    world.recorded.clear()
    world.held.clear()
    assert.equal((await world.artifacts.sweep()).over_bytes, 0)
    assert.deepEqual(left(world, digests), ['fresh'])
    await kept(world, { another: 0 })
    assert.equal((await world.artifacts.sweep()).over_bytes, KIB)
    assert.deepEqual(world.told, [2 * KIB, KIB])
  })

  test('takes what is stored over its budget, counts it at once, and removes nothing while a run is in flight', async () => {
    const world = newWorld(0, { days: 30, bytes: KIB })
    assert.deepEqual(world.artifacts.disk(), [])
    const digests = await kept(world, { one: DAY_S })
    await world.artifacts.sweep()
    for (const [name, digest] of await kept(world, { two: DAY_S, three: DAY_S })) digests.set(name, digest)
    assert.equal(world.artifacts.disk()[0]?.bytes, 3 * KIB)
    world.in_flight = true
    const { stood_aside, seen, over_bytes } = await world.artifacts.sweep()
    assert.deepEqual([stood_aside, seen, over_bytes], [true, 3, 2 * KIB])
    assert.deepEqual(left(world, digests), ['one', 'two', 'three'])
    world.in_flight = false
    world.meanwhile = look => {
      if (look === 1) world.in_flight = true
    }
    assert.equal((await world.artifacts.sweep()).stood_aside, true)
    assert.deepEqual(left(world, digests), ['one', 'two', 'three'])
    assert.deepEqual(world.files.leftOver(), [])
  })
})

describe('what happens during a sweep', () => {
  const LOOKS = { 'before it is taken aside': 1, 'after it was taken aside': 2 }
  for (const [when, at] of Object.entries(LOOKS)) {
    const during = (work: () => Promise<void> | void): void => {
      world.meanwhile = async look => {
        if (look === at) await work()
      }
    }

    test(`bytes that are stored again ${when} stay, and are there all the time`, async () => {
      const digest = await world.old('x')
      during(async () => {
        assert.equal(world.artifacts.has(digest), true)
        await world.fresh('x')
        assert.equal(world.artifacts.has(digest), true)
      })
      await world.artifacts.sweep()
      assert.equal(world.looks, 2)
      assert.equal(world.files.has(digest), true)
      assert.deepEqual(world.files.leftOver(), [])
    })

    test(`bytes that a message begins to hold ${when} stay`, async () => {
      const digest = await world.old('x')
      during(() => void world.held.add(digest))
      const report = await world.artifacts.sweep()
      assert.deepEqual([report.removed, report.held], [0, 1])
      assert.equal(world.files.has(digest), true)
    })

    test(`a reader that began ${when} reads to the end`, async () => {
      const digest = await world.old('the whole text')
      const files: number[] = []
      during(() => void files.push(openArtifact(world.files.folder, digest.slice('sha256:'.length))!.file))
      assert.equal((await world.artifacts.sweep()).removed, 1)
      assert.equal(world.artifacts.has(digest), false)
      assert.equal(readFileSync(files[0]!, 'utf8'), 'the whole text')
      closeSync(files[0]!)
    })
  }

  test(`what somebody has just stored is there, however the sweep stands (SEED=${seed})`, async () => {
    const random = randomFrom(seed)
    const texts = Array.from({ length: 6 }, () => randomBytes(20).toString('hex'))
    const digests = new Map<string, string>()
    for (const text of texts) digests.set(text, await world.old(text))
    let sweeping = true
    const sweeps = (async () => {
      for (let n = 0; n < 25; n++) await world.artifacts.sweep()
      sweeping = false
    })()
    let stored = 0
    while (sweeping) {
      const text = texts[Math.floor(random() * texts.length)]!
      const digest = await world.fresh(text)
      assert.equal(digest, digests.get(text))
      assert.equal(world.artifacts.has(digest), true, `after ${++stored} times`)
      for (let turns = Math.floor(random() * 20); turns > 0; turns--)
        await new Promise(resolve => setImmediate(resolve))
      assert.equal(world.artifacts.has(digest), true, `some time after ${stored} times`)
      world.files.age(digest, 2 * limits.ARTIFACT_SPARED_S)
    }
    await sweeps
    assert.deepEqual(world.files.leftOver(), [])
  })
})
