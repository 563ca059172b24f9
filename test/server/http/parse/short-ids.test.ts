import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limits } from '../../../../protocol/limits.ts'
import { cascadeId } from '../../../../protocol/nouns/cascade-id.ts'
import { wholeCascade, wholeDigest, wholeRun } from '../../../../server/http/parse/short-ids.ts'
import { artifactsOf } from '../../../kit/artifacts.ts'

const code = async (work: Promise<unknown>): Promise<[string, string]> => {
  const error = (await work.then(
    () => assert.fail('it was found'),
    (refusal: unknown) => refusal,
  )) as { code: string; message: string }
  return [error.code, error.message]
}

describe('a short id', () => {
  test('of a run is asked for unless it is whole, and is refused when it is too short or stands for several', async () => {
    const asked: [string, number][] = []
    const runs = (found: string[]) => ({
      idsFrom: async (text: string, most: number) => {
        asked.push([text, most])
        return found
      },
    })
    const id = '0195a3c4-7b10-7cc2-9d54-2f1e6a9b0c11'
    assert.equal(await wholeRun(runs([]), id), id)
    assert.deepEqual(asked, [])
    assert.equal(await wholeRun(runs([id]), '2f1e'), id)
    assert.deepEqual(asked, [['2f1e', limits.SHORT_ID_CANDIDATES + 1]])
    assert.equal((await code(wholeRun(runs([]), '2f1e')))[0], 'run_not_found')
    const [short, told] = await code(wholeRun(runs([id]), '2f1'))
    assert.equal(short, 'run_not_found')
    assert.match(told, /at least 4 characters/)
    const many = Array.from({ length: limits.SHORT_ID_CANDIDATES + 1 }, (_, at) => `run${at}`)
    const [ambiguous, named] = await code(wholeRun(runs(many), '2f1e'))
    assert.equal(ambiguous, 'ambiguous_id')
    assert.match(named, /run0, .*run7 and others/)
    assert.doesNotMatch(named, /run8/)
  })

  test('of a cascade is its beginning, found in the stretch of time that it names', async () => {
    const at_us = 1_767_225_600_123_000
    const ids = [0, 1, 2].map(seq => cascadeId(1, at_us + (seq === 2 ? 3_600_000_000 : 0), seq))
    const times = [at_us, at_us, at_us + 3_600_000_000]
    const observe = {
      cascades: async (query: { since_us: number | null; before_us: number | null; limit: number }) => {
        const items = ids.filter((_, at) => times[at]! >= query.since_us! && times[at]! < query.before_us!)
        return { items: items.map(id => ({ id })), count: items.length } as never
      },
    }
    assert.equal(await wholeCascade(observe, ids[0]!), ids[0])
    assert.equal(await wholeCascade(observe, ids[2]!.slice(0, 8)), ids[2])
    assert.equal((await code(wholeCascade(observe, ids[0]!.slice(0, 13))))[0], 'ambiguous_id')
    assert.equal((await code(wholeCascade(observe, ids[0]!.slice(0, 35))))[0], 'ambiguous_id')
    for (const text of ['019', 'ffff', '----', '0-1-2-3', ids[0]!.slice(24)])
      assert.equal((await code(wholeCascade(observe, text)))[0], 'cascade_not_found', text)
  })

  test('of an artifact is the beginning of its hex digits, with or without the name of the digest', async () => {
    const artifacts = artifactsOf({})
    try {
      async function* bytes() {
        yield Buffer.from('short')
      }
      const { digest } = await artifacts.put(bytes(), null)
      const hex = digest.slice('sha256:'.length)
      for (const text of [digest, hex, hex.slice(0, 4), `sha256:${hex.slice(0, 9)}`])
        assert.equal(await wholeDigest(artifacts, text), digest, text)
      for (const text of [hex.slice(0, 3), `${hex.slice(0, 8)}${hex[8] === 'a' ? 'b' : 'a'}`, '00000000'])
        assert.equal((await code(wholeDigest(artifacts, text)))[0], 'artifact_not_found', text)
    } finally {
      await artifacts.close()
    }
  })
})
