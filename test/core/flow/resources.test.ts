import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { callEnvironment, THREAD_VARIABLES, threadShare } from '../../../core/flow/environment.ts'
import { askedBy, expectedSeconds, type FlavorLookUp, ramMb, refuseRam } from '../../../core/flow/resources.ts'
import { ServiceError } from '../../../protocol/errors.ts'
import type { Resources } from '../../../protocol/nouns/flow-document.ts'
import { checked, code, flavors } from '../../kit/flow-documents.ts'

const flavorOf: FlavorLookUp = name => flavors[name] ?? null
const nodeWith = (resources: Resources, duration_s: number | null = null) =>
  checked({ nodes: [{ ...code('a', '', ''), resources, duration_s }] }).nodes[0]!

test('memory is MB as a number, or an amount with a unit', () => {
  assert.deepEqual(['512M', '2G', '1.5T', '100K', '100', '1.5G', 64, null].map(ramMb), [
    512,
    2048,
    1_572_864,
    100 / 1024,
    100,
    1536,
    64,
    null,
  ])
  for (const ram of ['512M', '100K', 1, null, '953T']) assert.equal(refuseRam(ram), null)
  for (const ram of ['2 GB', '2g', '', 'G', '-1', '1e3', '0', 0, '954T'])
    assert.notEqual(refuseRam(ram), null, `${ram}`)
})

describe('what a node asks for', () => {
  test('is what it declares and what its flavor gives, and nothing when it declares nothing', () => {
    assert.equal(askedBy(nodeWith({ env: { A: 'b' } }), flavorOf), null)
    assert.deepEqual(askedBy(nodeWith({ cpus: 0.5, ram: '1G' }), flavorOf), {
      cpus: 0.5,
      gpus: null,
      ram_mb: 1024,
      flavor: null,
    })
    assert.deepEqual(askedBy(nodeWith({ flavor: 'small', gpus: 1 }), flavorOf), {
      cpus: 2,
      gpus: 1,
      ram_mb: 2048,
      flavor: 'small',
    })
  })

  test('follows its flavor, which is read again each time', () => {
    const node = nodeWith({ flavor: 'small' })
    assert.equal(askedBy(node, () => ({ ...flavors['small']!, cpus: 7 }))?.cpus, 7)
    assert.throws(
      () => askedBy(node, () => null),
      (error: unknown) => error instanceof ServiceError && error.code === 'unknown_flavor',
    )
  })

  test('and how long it is expected to take, is said by itself or its flavor', () => {
    assert.equal(expectedSeconds(nodeWith({}, 5), flavorOf), 5)
    assert.equal(expectedSeconds(nodeWith({ flavor: 'small' }, 5), flavorOf), 5)
    assert.equal(expectedSeconds(nodeWith({ flavor: 'timed' }), flavorOf), 60)
    assert.equal(expectedSeconds(nodeWith({}), flavorOf), null)
  })
})

describe('the environment of a process that runs a body', () => {
  const nothing = { declared: {}, granted: null, cards: [], share: 3, operator: {} }
  const granted = { cpus: null, gpus: null, ram_mb: null, flavor: null }

  test('caps the threads of a node that declares nothing at its share of the cores, at least one', () => {
    assert.deepEqual([threadShare(16, 5), threadShare(2, 8)], [3, 1])
    const environment = callEnvironment(nothing)
    assert.deepEqual(Object.keys(environment).sort(), [...THREAD_VARIABLES].sort())
    assert.deepEqual(new Set(Object.values(environment)), new Set(['3']))
  })

  test('leaves that to the operator who has set OMP_NUM_THREADS, and any one variable to the one who has set it', () => {
    assert.deepEqual(callEnvironment({ ...nothing, operator: { OMP_NUM_THREADS: '12' } }), {})
    assert.equal(callEnvironment({ ...nothing, operator: { OMP_NUM_THREADS: '' } })['OMP_NUM_THREADS'], '3')
    const environment = callEnvironment({ ...nothing, operator: { MKL_NUM_THREADS: '2' } })
    assert.deepEqual([environment['MKL_NUM_THREADS'], environment['OMP_NUM_THREADS']], [undefined, '3'])
  })

  test('caps them at the cores that were granted, whatever the operator says', () => {
    const environment = callEnvironment({
      ...nothing,
      granted: { ...granted, cpus: 1.2 },
      operator: { OMP_NUM_THREADS: '12' },
    })
    for (const name of THREAD_VARIABLES) assert.equal(environment[name], '2')
  })

  test('shows a node that declares cards those that it holds, and no others', () => {
    const cuda = (more: object): string | undefined => callEnvironment({ ...nothing, ...more })['CUDA_VISIBLE_DEVICES']
    assert.equal(cuda({ granted: { ...granted, gpus: 2 }, cards: [1, 4] }), '1,4')
    assert.equal(cuda({ granted: { ...granted, gpus: 0 } }), '')
    assert.equal(cuda({ granted: { ...granted, cpus: 1 } }), undefined)
  })

  test('lets the node have the last word, and is the only place that XLA_FLAGS come from', () => {
    const environment = callEnvironment({
      ...nothing,
      declared: { OMP_NUM_THREADS: '9', XLA_FLAGS: '--xla_cpu_multi_thread_eigen=false' },
      granted: { ...granted, gpus: 1 },
      cards: [0],
    })
    assert.equal(environment['OMP_NUM_THREADS'], '9')
    assert.equal(environment['XLA_FLAGS'], '--xla_cpu_multi_thread_eigen=false')
    assert.ok(!('XLA_FLAGS' in callEnvironment(nothing)))
  })
})
