import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { Bodies } from '../../../server/flows/bodies.ts'
import { liveEngine } from '../../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../../kit/live-story.ts'
import { directoryFor } from '../../kit/spawned.ts'

const digest = (n: number): string => String(n).padStart(64, '0')

function folder(t: TestContext) {
  const data_dir = directoryFor(t)
  const files = (): number[] => readdirSync(join(data_dir, 'bodies')).map(name => Number.parseInt(name, 10))
  return { data_dir, files: () => files().sort((a, b) => a - b) }
}

const put = (bodies: Bodies, from: number, to: number): void => {
  for (let n = from; n <= to; n++) bodies.put(digest(n), `export default () => ${n}`)
}
const named = (...numbers: number[]): Set<string> => new Set(numbers.map(digest))

test('a start drops the bodies of old versions, and restoring one makes its body again', async t => {
  const first = await liveEngine(t)
  const bodies = (): string[] => readdirSync(join(first.data_dir, 'bodies'))
  const document = (times: number) =>
    flow(
      [code('scale', `export default ({ x }) => ({ y: x * ${times} })`, [input('x', 'int')], [output('y', 'int')])],
      {
        message: 'x',
        dtype: 'int',
      },
    )
  const story = new Story(first.engine)
  const { commit } = await story.save('work', document(10))
  await story.save('work', document(100))
  assert.equal(bodies().length, 2)

  const second = await first.restart()
  assert.equal(bodies().length, 1)
  const later = new Story(second.engine)
  later.publish('work.x', 1)
  await later.becomes('work.y', 100)
  await second.engine.flows.restore('work', commit, 'ada')
  assert.equal(bodies().length, 2)
  later.publish('work.x', 1)
  await later.becomes('work.y', 10)
})

describe('bodies', () => {
  test('are files of their owner alone, and a later start finds them', t => {
    const { data_dir } = folder(t)
    const bodies = new Bodies(data_dir)
    put(bodies, 1, 1)
    const path = join(bodies.folder, `${digest(1)}.mjs`)
    assert.equal(readFileSync(path, 'utf8'), 'export default () => 1')
    assert.equal((statSync(path).mode & 0o777).toString(8), '600')
    const later = new Bodies(data_dir)
    assert.ok(later.has(digest(1)))
    assert.ok(!later.has(digest(2)))
  })

  test('that an engine was writing when it ended are gone after the next start', t => {
    const { data_dir, files } = folder(t)
    put(new Bodies(data_dir), 1, 1)
    writeFileSync(join(data_dir, 'bodies', `${digest(2)}.mjs.new`), 'export def')
    assert.ok(!new Bodies(data_dir).has(digest(2)))
    assert.deepEqual(files(), [1])
  })

  test('that no flow names go, those first that have been without one for longest', t => {
    const { data_dir, files } = folder(t)
    const bodies = new Bodies(data_dir)
    put(bodies, 1, 6)
    bodies.prune(named(3, 4, 5, 6), 3)
    bodies.prune(named(5, 6), 3)
    assert.deepEqual(files(), [2, 3, 4, 5, 6])
    bodies.prune(named(6, 2), 3)
    assert.deepEqual(files(), [2, 3, 4, 5, 6], 'one that is named again is not counted')
    bodies.prune(named(6), 3)
    assert.deepEqual(files(), [2, 4, 5, 6], 'and begins anew when it is not')
    assert.ok(!bodies.has(digest(3)))
    put(bodies, 3, 3)
    assert.deepEqual(files(), [2, 3, 4, 5, 6])
  })

  test('of old versions are bounded however often flows are saved', t => {
    const { data_dir, files } = folder(t)
    const unused = 40
    const bodies = new Bodies(data_dir, unused)
    const saves = 5 * unused
    for (let n = 1; n <= saves; n++) {
      put(bodies, n, n)
      if (bodies.isPassDue) bodies.prune(named(1, n))
      assert.ok(bodies.has(digest(1)) && bodies.has(digest(n)))
    }
    const left = files()
    assert.ok(left.length <= 2 + unused + unused / 4)
    assert.equal(left[0], 1)
    assert.equal(left.at(-1), saves)
    bodies.prune(named(1), 0)
    assert.deepEqual(files(), [1])
  })
})
