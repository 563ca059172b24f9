import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { normalize } from '../../../core/flow/normalize.ts'
import {
  changedParts,
  isCacheable,
  itemDigest,
  SequenceDigest,
  type Sha256,
  StageFingerprint,
} from '../../../core/runs/fingerprint.ts'
import type { FlowNode, NormalNode } from '../../../protocol/nouns/flow-document.ts'
import { canonical } from '../../../protocol/values/canonical-json.ts'
import { code } from '../../kit/flow-documents.ts'
import { ROOT } from '../../kit/sources.ts'

const sha256: Sha256 = text => createHash('sha256').update(text).digest('hex')

interface Vectors {
  about: string
  sequences: { about: string; items: unknown[]; digest: string }[]
  stages: {
    about: string
    body: string
    node: Pick<NormalNode, 'language' | 'settings' | 'ports'>
    code: string
    /** The items that each port read. */
    read: Record<string, unknown[]>
    /** Name and version of the secrets that it is known to use. */
    secrets?: [name: string, version: string][]
    parts: Record<string, string>
    key: string
  }[]
}

const FILE = join(ROOT, 'test/conformance/fingerprint.json')
const vectors = JSON.parse(readFileSync(FILE, 'utf8')) as Vectors

const digestOf = (items: readonly unknown[]): string => {
  const sequence = new SequenceDigest(sha256)
  for (const item of items) sequence.add(item)
  return sequence.digest
}

const stageOf = ({ body, node, code, read, secrets }: Vectors['stages'][number]) =>
  new StageFingerprint(node, sha256(body), sha256).key(
    code,
    Object.fromEntries(Object.entries(read).map(([port, items]) => [port, digestOf(items)])),
    secrets,
  )

// After a change of what the file asks: UPDATE=1, then `npm run format`. A changed answer to an old question is a new version.
if (process.env['UPDATE'] !== undefined) {
  for (const sequence of vectors.sequences) sequence.digest = digestOf(sequence.items)
  for (const stage of vectors.stages) Object.assign(stage, stageOf(stage))
  writeFileSync(FILE, `${JSON.stringify(vectors, null, 2)}\n`)
}

describe('fingerprints as the vectors have them', () => {
  for (const { about, items, digest } of vectors.sequences)
    test(`the digest of ${about}`, () => assert.equal(digestOf(items), digest))

  for (const stage of vectors.stages)
    test(`the key of ${stage.about}`, () => {
      const { key, parts } = stageOf(stage)
      assert.deepEqual(parts, stage.parts)
      assert.equal(key, stage.key)
    })
})

describe('what a key depends on', () => {
  const node = (over: Partial<FlowNode> = {}): NormalNode =>
    normalize({ nodes: [{ ...code('mean', 'raw scale', 'mean'), settings: { window: 12, mode: 'fast' }, ...over }] })
      .nodes[0]!
  const keyOf = (of: NormalNode, { body = 'a', codeDigest = '', raw = [1] as unknown[] } = {}) =>
    new StageFingerprint(of, body, sha256).key(codeDigest, { in0: digestOf(raw), in1: digestOf([2]) })
  const first = keyOf(node())

  test('the order of keys in settings and of ports changes nothing', () => {
    const { inputs, outputs } = node().ports
    const other = keyOf(
      node({ settings: { mode: 'fast', window: 12 }, ports: { inputs: inputs.toReversed(), outputs } }),
    )
    assert.deepEqual(other, first)
  })

  test('the secrets that a node uses are a part of their own, which has their names and versions in order', () => {
    const used = new StageFingerprint(node(), 'a', sha256)
    const values = { in0: digestOf([1]), in1: digestOf([2]) }
    const one = used.key('', values, [['api key', 'v1']])
    assert.deepEqual(changedParts(first.parts, one.parts), ['secrets'])
    assert.equal(one.key, sha256(`stage 1\n${canonical(one.parts)}`))
    assert.equal(one.parts['secrets'], sha256('[["api key","v1"]]'))
    assert.deepEqual(changedParts(one.parts, used.key('', values, [['api key', 'v2']]).parts), ['secrets'])
    assert.deepEqual(used.key('', values, []), first)
  })

  test('the environment of the body is a part of its own, which a node without one does not have', () => {
    const set = keyOf(node({ resources: { env: { XLA_FLAGS: '--a', MODE: 'fast' } } }))
    assert.deepEqual(changedParts(first.parts, set.parts), ['env'])
    assert.notEqual(set.key, first.key)
    assert.equal(set.key, sha256(`stage 1\n${canonical(set.parts)}`))
    assert.deepEqual(keyOf(node({ resources: { env: { MODE: 'fast', XLA_FLAGS: '--a' } } })), set)
    const other = keyOf(node({ resources: { env: { XLA_FLAGS: '--b', MODE: 'fast' } } }))
    assert.deepEqual(changedParts(set.parts, other.parts), ['env'])
  })

  test('what a node costs and how it is drawn changes nothing', () => {
    const other = node({ position: { x: 4, y: 2 }, timeout: 9, duration_s: 3, resources: { cpus: 2 } })
    assert.deepEqual(keyOf(other), first)
  })

  const { inputs, outputs } = node().ports
  for (const [part, other] of [
    ['source', keyOf(node(), { body: 'b' })],
    ['source', keyOf(node({ language: 'js' }))],
    ['settings', keyOf(node({ settings: { window: 13, mode: 'fast' } }))],
    ['ports', keyOf(node({ ports: { inputs, outputs: [{ ...outputs[0]!, dtype: 'json' }] } }))],
    ['code', keyOf(node(), { codeDigest: 'c' })],
    ['values.in0', keyOf(node(), { raw: [1, 1] })],
  ] as const)
    test(`another ${part} is another key, and the part is named`, () => {
      assert.notEqual(other.key, first.key)
      assert.deepEqual(changedParts(first.parts, other.parts), [part])
    })

  test('a key is the digest of the canonical parts', () => {
    const { key, parts } = keyOf(node(), { codeDigest: sha256('code') })
    assert.equal(key, sha256(`stage 1\n${canonical(parts)}`))
  })

  test('a port that came or went is named', () => {
    const other = new StageFingerprint(node({ ports: { inputs: [inputs[0]!], outputs } }), 'a', sha256).key('', {
      in0: digestOf([1]),
    })
    assert.deepEqual(changedParts(first.parts, other.parts), ['ports', 'values.in1'])
  })

  test('a port whose values are not given is a mistake of the caller', () => {
    assert.throws(() => new StageFingerprint(node(), 'a', sha256).key('', { in0: 'x' }), /port in1/)
  })
})

describe('the digest of what a port read', () => {
  const picture = { digest: `sha256:${'ab'.repeat(32)}`, media_type: 'image/png' }

  test('nothing has none, and items given one by one or by their digests come to the same', () => {
    const items = [1, { a: [2] }, 'three']
    const sequence = new SequenceDigest(sha256)
    assert.deepEqual([sequence.count, sequence.digest], [0, ''])
    for (const item of items) sequence.addDigest(itemDigest(item, sha256))
    assert.deepEqual([sequence.count, sequence.digest], [3, digestOf(items)])
  })

  test('order and number of the items count', () => {
    const digests = [[1], [1, 1], [1, 2], [2, 1], [[1, 2]], ['1'], [1, 1, 1]].map(digestOf)
    assert.equal(new Set(digests).size, digests.length)
  })

  test('a reference counts as its digest and media type, wherever it stands', () => {
    const seen = { ...picture, meta: { camera: 'north' }, name: 'a.png' }
    assert.equal(digestOf([seen]), digestOf([picture]))
    assert.equal(digestOf([{ frames: [seen] }]), digestOf([{ frames: [picture] }]))
    assert.notEqual(digestOf([{ ...picture, media_type: 'image/jpeg' }]), digestOf([picture]))
    assert.notEqual(digestOf([{ ...picture, digest: `sha256:${'cd'.repeat(32)}` }]), digestOf([picture]))
  })

  test('what only looks a little like a reference counts whole', () => {
    for (const odd of [
      { digest: 'sha256:short', media_type: 'a/b' },
      { digest: picture.digest },
      { ...picture, media_type: 1 },
    ])
      assert.notEqual(digestOf([{ ...odd, meta: 1 }]), digestOf([{ ...odd, meta: 2 }]))
  })

  test('half of a surrogate pair in a value is no reason to fail a run', () => {
    assert.notEqual(digestOf(['\ud800']), digestOf(['\ud801']))
  })
})

test('only code nodes can be cached, and those only that do not opt out', () => {
  const [plain, out, inject] = normalize({
    nodes: [
      code('a', 'x', 'y'),
      { ...code('b', 'x', 'z'), cache: false },
      { id: 'c', type: 'inject', ports: { outputs: [{ name: 'o', dtype: 'int' }] } },
    ],
  }).nodes
  assert.deepEqual([plain!, out!, inject!].map(isCacheable), [true, false, false])
})
