import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ServiceError } from '../../../../protocol/errors.ts'
import { limits } from '../../../../protocol/limits.ts'
import { parseLargeJson } from '../../../../server/http/parse/large-json.ts'
import { seed } from '../../../kit/random.ts'

const bytes = (text: string): Uint8Array => Buffer.from(text)
const read = (text: string, most = Number.POSITIVE_INFINITY): Promise<unknown> => parseLargeJson(bytes(text), most)
/** The code of what it is refused with. */
const refused = async (text: string, most?: number): Promise<string> => {
  try {
    await read(text, most)
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error))
    return error.code
  }
  return 'not refused'
}
const BLANKS = ' '.repeat(20_000)

describe('a large JSON document', () => {
  test(`reads as JSON.parse reads it, whatever is in it (SEED=${seed})`, async () => {
    const value = fc.letrec(tie => ({
      any: fc.oneof({ maxDepth: 4 }, tie('leaf'), fc.array(tie('any')), fc.dictionary(fc.string(), tie('any'))),
      leaf: fc.oneof(
        fc.string({ unit: 'grapheme' }),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
        fc.constantFrom('x'.repeat(9_000), '],{":\\"', '__proto__'),
        fc.constant(Array.from({ length: 800 }, (_, at) => ({ at, text: `"${at}\\` }))),
        fc.constant(Object.fromEntries(Array.from({ length: 1_200 }, (_, at) => [`k${at}`, [at]]))),
      ),
    })).any
    await fc.assert(
      fc.asyncProperty(value, fc.constantFrom(0, 1, 2), async (any, indent) => {
        const text = JSON.stringify(any, null, indent)
        assert.deepEqual(await read(text), JSON.parse(text))
      }),
      { seed, numRuns: 40 },
    )
  })

  test('keeps the last of two members of one name, and __proto__ as a member', async () => {
    const text = `{"a":1,"b":[${'1,'.repeat(9_000)}1],"a":2,"__proto__":{"x":[${'0,'.repeat(9_000)}0]}}`
    const members = (await read(text)) as Record<string, unknown>
    assert.equal(members['a'], 2)
    assert.ok(Object.hasOwn(members, '__proto__'))
    assert.equal(Object.getPrototypeOf(members), Object.prototype)
  })

  test('is refused where JSON.parse refuses it', async () => {
    const long = `[${'1,'.repeat(9_000)}1]`
    const broken = [
      `[${long}`,
      `${long}]`,
      `[${long},]`,
      `[${long} ${long}]`,
      `[,${long}]`,
      `[1 ${long}]`,
      `[${long}1]`,
      `{"a":${long},}`,
      `{"a" ${long}}`,
      `{a:${long}}`,
      `{1:${long}}`,
      `{"a":1 "b":${long}}`,
      `{"a":"b":${long}}`,
      `{${long}}`,
      `["a":${long}]`,
      `[${long}}`,
      `{"a":${long}]`,
      `${long}${long}`,
      `x${long}`,
      `[${BLANKS},${BLANKS}]`,
      `["${'x'.repeat(20_000)}]`,
      `[${'1,'.repeat(9_000)},1]`,
      `[${'1,'.repeat(9_000)}]`,
    ]
    for (const text of broken) {
      assert.throws(() => JSON.parse(text), text.slice(0, 20))
      assert.equal(await refused(text), 'malformed_json', `${text.slice(0, 20)}...${text.slice(-20)}`)
    }
    assert.deepEqual(await read(`[${BLANKS}]`), [])
    assert.deepEqual(await read(` {${BLANKS}} `), {})
    await assert.rejects(parseLargeJson(Buffer.concat([bytes('["'), Buffer.alloc(20_000, 0xff), bytes('"]')]), 9), {
      code: 'malformed_json',
    })
  })

  test('is refused with too many members, objects and lists, and when it is nested too deeply', async () => {
    const list = `[${'{},'.repeat(9_999)}{}]`
    assert.equal(await refused(list, 10_000), 'too_large')
    assert.equal(await refused(list, 10_001), 'not refused')
    const object = (members: number): string =>
      `[{${Array.from({ length: members }, (_, at) => `"k${at}":0`).join(',')}},{"a":1}]`
    assert.equal(await refused(object(limits.VALUE_PARTS)), 'not refused')
    assert.equal(await refused(object(limits.VALUE_PARTS + 1)), 'too_large')
    assert.equal(await refused(`[${'0,'.repeat(limits.LIST_ITEMS - 1)}0]`), 'not refused')
    assert.equal(await refused(`[${'0,'.repeat(limits.LIST_ITEMS)}0]`), 'too_large')
    assert.equal(await refused(`[${'[],'.repeat(9_000)}${'['.repeat(64)}${']'.repeat(64)}]`), 'too_deep')
  })
})
