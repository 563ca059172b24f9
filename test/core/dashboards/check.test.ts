import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkDashboardSteps } from '../../../core/dashboards/check.ts'
import { namedIn, renamedIn, usesOf } from '../../../core/dashboards/uses.ts'
import { finish } from '../../../core/steps.ts'
import { TILE_TYPES } from '../../../protocol/dashboards/tiles/index.ts'
import type { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { DashboardDocument, Tile } from '../../../protocol/nouns/dashboard.ts'
import { tile } from '../../kit/panel-story.ts'

/** Of each type the least that it takes, and what it touches then. */
const LEAST: Record<string, [settings: Record<string, unknown>, uses: Record<string, string[]>]> = {
  value: [{ message: 'f.a' }, { reads: ['f.a'] }],
  gauge: [{ message: 'f.a' }, { reads: ['f.a'] }],
  level: [{ message: 'f.a' }, { reads: ['f.a'] }],
  chart: [{ messages: ['f.a', 'f.b'] }, { reads: ['f.a', 'f.b'] }],
  'query-chart': [
    { publish: 'f.q', message: 'f.a' },
    { reads: ['f.a'], asks: ['f.q'] },
  ],
  table: [{ messages: ['f.a'] }, { reads: ['f.a'] }],
  text: [{ text: '<script>alert(1)</script>' }, {}],
  image: [{ message: 'f.a' }, { reads: ['f.a'], media: ['f.a'] }],
  audio: [{ message: 'f.a' }, { reads: ['f.a'], media: ['f.a'] }],
  button: [{ publish: 'f.p' }, { publishes: ['f.p'] }],
  switch: [{ publish: 'f.p' }, { reads: ['f.p'], publishes: ['f.p'] }],
  slider: [
    { publish: 'f.p', message: 'f.a' },
    { reads: ['f.a'], publishes: ['f.p'] },
  ],
  number: [{ publish: 'f.p' }, { reads: ['f.p'], publishes: ['f.p'] }],
  'text-field': [{ publish: 'f.p' }, { reads: ['f.p'], publishes: ['f.p'] }],
  select: [
    { publish: 'f.p', options: [{ title: 'one', value: 1 }] },
    { reads: ['f.p'], publishes: ['f.p'] },
  ],
  'run-starter': [{ flow: 'f' }, {}],
  'run-curves': [{ flow: 'f', metrics: ['f.n.loss'] }, {}],
  issues: [{}, {}],
  clock: [{}, {}],
}

const check = (document: unknown): DashboardDocument => finish(checkDashboardSteps(document))
function refusal(document: unknown): { code: string; places: string[] } {
  try {
    check(document)
  } catch (error) {
    const { code, errors } = error as ServiceError
    return { code, places: errors.map(({ loc, msg }) => `${loc}: ${msg}`) }
  }
  throw new RangeError('it was not refused')
}
const of = (...tiles: unknown[]) => ({ locked: false, tiles })

describe('the types of tiles', () => {
  test('every one has its least settings here', () => {
    assert.deepEqual(
      Object.keys(LEAST),
      TILE_TYPES.map(({ name }) => name),
    )
  })

  for (const [type, [settings, uses]] of Object.entries(LEAST))
    test(`a ${type} takes its least settings, touches what they name, and refuses others`, () => {
      const one = tile('t', type, settings)
      assert.deepEqual(check(of(one)), of(one))
      assert.deepEqual(usesOf(one), { reads: [], publishes: [], asks: [], media: [], ...uses })
      const { code, places } = refusal(of({ ...one, settings: { ...settings, script: 'x' } }))
      assert.equal(code, 'bad_tile')
      assert.match(places[0]!, /^tiles\[0\]\.settings\.script: is not a known key/)
    })
})

describe('a document of a dashboard', () => {
  test('a tile may stand without a position, in one width alone, or with one that somebody else draws by', () => {
    const { position: _, ...nowhere } = tile('clock', 'clock', {})
    for (const position of [{}, { tablet: { x: 0, y: 0, width: 6, height: 2 } }, { x: 0, y: 0, w: 4, h: 2 }])
      assert.deepEqual(check({ locked: false, tiles: [{ ...nowhere, position }] }).tiles[0]!.position, position)
    assert.equal(check({ locked: false, tiles: [nowhere] }).tiles[0]!.position, undefined)
  })

  test('each mistake is told with its place', () => {
    const good = tile('a', 'value', { message: 'f.a' })
    assert.deepEqual(refusal(of(good, { ...good, position: { wide: { x: 10, y: 0, width: 3, height: 1 } } })), {
      code: 'validation',
      places: [
        'tiles[1].id: "a" is the id of another tile',
        'tiles[1].position.wide.width: from column 10 at most 2 fit in 12, not 3',
      ],
    })
    assert.deepEqual(refusal(of(good, tile('b', 'gauge', { message: 'f.a', min: 5, max: 5, low: 1 }))), {
      code: 'bad_tile',
      places: [
        'tiles[1].settings.max: must be more than min (5), not 5',
        'tiles[1].settings.low: must be at least min (5), not 1',
      ],
    })
    assert.deepEqual(refusal(of(tile('b', 'guage', { message: 'f.a' }))), {
      code: 'unknown_tile_type',
      places: ['tiles[0].type: there is no tile type "guage"; did you mean "gauge"?'],
    })
    assert.match(
      refusal(of(tile('b', 'value', { message: 'nothing' }))).places[0]!,
      /^tiles\[0\]\.settings\.message: "nothing" is not a name with its flow/,
    )
    assert.match(refusal({ locked: 'yes', tiles: [] }).places[0]!, /^locked/)
    assert.match(refusal({ tiles: [] }).places[0]!, /^locked: is missing/)
    for (const document of [null, 7, 'x', [], {}]) assert.equal(refusal(document).code, 'validation')
  })

  test('10,000 tiles are refused before any of them is looked at', () => {
    let looked = 0
    const watched = new Proxy({} as Tile, {
      get: () => looked++,
      ownKeys: () => {
        looked++
        return []
      },
    })
    const { places } = refusal(of(...Array(10_000).fill(watched)))
    assert.deepEqual(places, [`tiles: has 10000 items; at most ${limits.DASHBOARD_TILES} are allowed`])
    assert.equal(looked, 0)
  })

  test('names of prototypes are no types and no settings', () => {
    assert.equal(refusal(of(tile('a', 'constructor', {}))).code, 'unknown_tile_type')
    assert.equal(refusal(of(tile('a', '__proto__', {}))).code, 'unknown_tile_type')
    assert.equal(
      refusal(
        of(
          JSON.parse(
            '{"id":"a","type":"clock","settings":{"__proto__":{"x":1}},"position":{"wide":{"x":0,"y":0,"width":1,"height":1}}}',
          ),
        ),
      ).code,
      'bad_tile',
    )
  })

  test('a renamed flow is renamed wherever a tile or the lock names it', () => {
    const all = Object.entries(LEAST).map(([type, [settings]], at) => tile(`t${at}`, type, settings))
    const document = check({ locked: { message: 'f.lock' }, tiles: all })
    const renamed = renamedIn(document, 'f', 'g')!
    const names = [...namedIn(renamed)].map(({ name }) => name)
    assert.ok(names.length > 15)
    assert.deepEqual(
      names.filter(name => !/^g(\.|$)/.test(name)),
      [],
    )
    assert.deepEqual(
      [...namedIn(renamed)].map(({ loc }) => loc),
      [...namedIn(document)].map(({ loc }) => loc),
    )
    assert.deepEqual(renamed.tiles.find(({ type }) => type === 'run-curves')?.settings['metrics'], ['g.n.loss'])
    assert.deepEqual(check(renamed), renamed)
    assert.equal(renamedIn(document, 'other', 'g'), null)
  })
})
