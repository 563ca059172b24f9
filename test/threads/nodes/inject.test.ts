import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ServiceError } from '../../../protocol/errors.ts'
import type { FlowNode } from '../../../protocol/nouns/flow-document.ts'
import { nextCron } from '../../../threads/nodes/cron.ts'
import { checkedType } from '../../../threads/nodes/node-type.ts'
import { injectPlan, injectType } from '../../../threads/nodes/types/inject.ts'
import { checked } from '../../kit/flow-documents.ts'

const inject = (settings: object, change: Partial<FlowNode> = {}): FlowNode => ({
  id: 'tick',
  type: 'inject',
  settings: settings as Record<string, unknown>,
  ports: { outputs: [{ name: 'x', dtype: 'float' }] },
  ...change,
})

function refusal(settings: object, change: Partial<FlowNode> = {}): string[] {
  try {
    checked({ nodes: [inject(settings, change)] })
  } catch (error) {
    assert.ok(error instanceof ServiceError)
    return [error.code, ...error.errors.map(({ loc, msg }) => `${loc}: ${msg.replace('node "tick": ', '')}`)]
  }
  return []
}

describe('an inject node', () => {
  test('publishes once, at an interval, by cron, or all of it', () => {
    for (const settings of [
      { once: true },
      { every_s: 0.001, value: 1.5 },
      { cron: '*/5 * * * *', once: false },
      { cron: '*/5 * * * * *', every_s: 60, once: true },
      { cron: '0 12 * * MON-FRI', every_s: null },
    ])
      assert.deepEqual(refusal(settings), [])
  })

  test('must do at least one of them', () => {
    const expected = ['bad_settings', 'nodes[0].settings: set at least one of once (true), every_s and cron']
    for (const settings of [{}, { once: false }, { value: 1 }, { every_s: null, cron: null }])
      assert.deepEqual(refusal(settings), expected)
  })

  test('has one output port, no input and no source', () => {
    const port = { name: 'x', dtype: 'float' as const }
    const once = { once: true }
    assert.deepEqual(refusal(once, { ports: {} }), [
      'validation',
      'nodes[0].ports.outputs: an inject node has exactly one output port',
    ])
    assert.deepEqual(refusal(once, { ports: { outputs: [port, { ...port, name: 'y' }] } }), [
      'validation',
      'nodes[0].ports.outputs: an inject node has exactly one output port',
    ])
    assert.deepEqual(refusal(once, { ports: { inputs: [{ ...port, message: 'given' }], outputs: [port] } }), [
      'validation',
      'nodes[0].ports.inputs: a node of type inject has no input ports',
    ])
    assert.deepEqual(refusal(once, { source: '' }), [
      'validation',
      'nodes[0].source: a node of type inject has no source',
    ])
  })

  test('knows its settings and their bounds', () => {
    assert.deepEqual(refusal({ every_s: 0 }), [
      'bad_settings',
      'nodes[0].settings.every_s: must be at least 0.001, not 0',
    ])
    assert.deepEqual(refusal({ every_s: '1' }), [
      'bad_settings',
      'nodes[0].settings.every_s: must be a finite number or null, not "1"',
    ])
    assert.deepEqual(refusal({ every: 1 }), [
      'bad_settings',
      'nodes[0].settings.every: is not a known key; known are once, every_s, cron, catch_up, value',
    ])
    assert.deepEqual(refusal({ once: 'yes' }), [
      'bad_settings',
      'nodes[0].settings.once: must be true or false, not "yes"',
    ])
  })

  test('sends a value that its port can carry', () => {
    assert.deepEqual(refusal({ once: true, value: 'warm' }), [
      'wrong_dtype',
      'nodes[0].settings.value: expected a finite number (float), got "warm"',
    ])
    const image = { ports: { outputs: [{ name: 'x', dtype: 'image' as const }] } }
    assert.match(
      refusal({ once: true }, image)[1] ?? '',
      /^nodes\[0\]\.settings\.value: expected a reference to an image/,
    )
  })

  test('without a value sends true, 0, an empty text or null', () => {
    const sent = (['bool', 'int', 'float', 'str', 'json'] as const).map(
      dtype => injectPlan({ once: true }, dtype).value,
    )
    assert.deepEqual(sent, [true, 0, 0, '', null])
    assert.deepEqual(injectPlan({ every_s: 2, value: null }, 'json'), {
      once: false,
      every_s: 2,
      cron: null,
      catch_up: 'skip',
      value: null,
    })
  })
})

describe('cron', () => {
  test('what is no expression says why', () => {
    const fault = (cron: string): string => refusal({ cron }).join(' | ')
    assert.equal(
      fault('* * * *'),
      'bad_cron | nodes[0].settings.cron: "* * * *" has 4 fields; five are needed, or six with seconds first',
    )
    assert.match(fault(''), /^bad_cron .* has 0 fields/)
    assert.match(fault('@daily'), /^bad_cron .* has 1 fields/)
    assert.match(fault('2026-01-01T00:00:00'), /^bad_cron /)
    assert.match(fault('* * * * * * 2026'), /^bad_cron .* has 7 fields/)
    assert.match(fault('60 * * * *'), /^bad_cron .*"60 \* \* \* \*": Invalid value for minute: 60$/)
    assert.match(fault('*/0 * * * *'), /^bad_cron .*illegal stepping/)
    assert.match(fault('x'.repeat(300)), /^bad_settings .* has 300 characters; at most 256 are allowed$/)
  })

  test('a time that never comes is refused', () => {
    assert.deepEqual(refusal({ cron: '0 0 30 2 *' }), ['bad_cron', 'nodes[0].settings.cron: "0 0 30 2 *" never comes'])
  })

  test('is read in the time zone of the engine, across its changes', () => {
    const at = (zone: string, after: string): string =>
      new Date(nextCron('30 2 * * *', zone, Date.parse(after))!).toISOString()
    assert.equal(at('UTC', '2026-01-01T00:00:00Z'), '2026-01-01T02:30:00.000Z')
    assert.equal(at('America/New_York', '2026-01-01T00:00:00Z'), '2026-01-01T07:30:00.000Z')
    assert.equal(at('Europe/Berlin', '2026-07-01T12:00:00Z'), '2026-07-02T00:30:00.000Z')
    assert.equal(nextCron('0 0 30 2 *', 'UTC', 0), null)
  })

  test('the node type checks in the zone that it was given', () => {
    const faults: string[] = []
    checkedType(injectType, { timezone: 'Mars/Olympus', fits: () => null, hasSecret: () => false }).check(
      checked({ nodes: [inject({ cron: '* * * * *' })] }).nodes[0]!,
      (_, loc) => faults.push(loc),
    )
    assert.deepEqual(faults, ['settings.cron'])
  })
})
