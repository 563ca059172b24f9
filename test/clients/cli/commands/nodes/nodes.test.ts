import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { Interrupts } from '../../../../../clients/cli/interrupts.ts'
import { Output } from '../../../../../clients/cli/output/output.ts'
import { createProgram } from '../../../../../clients/cli/program.ts'
import type { Latencies, NodeDetail, Quantiles } from '../../../../../protocol/nouns/node.ts'
import type { NodeError } from '../../../../../protocol/nouns/node-error.ts'
import { ApiDouble } from '../../../../kit/api-double.ts'
import { directoryFor } from '../../../../kit/spawned.ts'

const quantiles = (seconds: number, count = 1_234_567): Quantiles => ({
  count,
  mean_s: seconds,
  p50_s: seconds,
  p90_s: seconds * 3,
  p99_s: seconds * 20,
})

const latencies = (scale = 1): Latencies => ({
  wait: quantiles(0.000_002_5 * scale),
  execution: quantiles(0.001_25 * scale),
  total: quantiles(0.75 * scale),
})

const NODE: NodeDetail = {
  name: 'boiler_room_number_seven.smoother_of_the_inlet',
  type: 'code',
  placement: 'dispatch',
  executions: 1_234_567,
  errors: 3,
  waiting_for_input: 2,
  down: null,
  gauges: {},
  minute: { since: '2026-01-02T03:04:05.000006+00:00', until: '2026-01-02T03:05:05.000006+00:00' },
  since_start: latencies(),
  last_minute: { ...latencies(), wait: null },
  wires: [
    {
      from: 'boiler_room_number_seven.reader_of_the_inlet_sensor.temperature',
      message: 'boiler_room_number_seven.temperature',
      port: 'temperature',
      trigger: true,
      since_start: latencies(2),
      last_minute: null,
    },
    {
      ...{ from: null, message: 'boiler_room_number_seven.pressure', port: 'pressure', trigger: true },
      ...{ since_start: { wait: null, execution: null, total: null }, last_minute: null },
    },
    { from: null, message: 'f.limit', port: 'limit', trigger: false, since_start: null, last_minute: null },
  ],
}

const FAILED: NodeError = {
  node: NODE.name,
  code: 'node_error',
  message:
    'RangeError: \u001b[31mtoo hot to be smoothed, whatever the window of the smoother may have been at the time',
  stack: null,
  ts: '2026-01-02T03:04:05.000006+00:00',
  inputs: {},
  cascade: null,
  acknowledged: false,
}

/** What the command prints on a terminal of 80 columns. */
async function show(t: TestContext, node: NodeDetail, errors: NodeError[], ...more: string[]): Promise<string> {
  const api = await ApiDouble.start(t, {
    [`GET /nodes/${node.name}`]: { answer: node },
    [`GET /nodes/${node.name}/errors`]: { answer: { items: errors, count: errors.length } },
  })
  let printed = ''
  const sink = { isTTY: true, columns: 80, write: (text: string) => (printed += text) }
  const context = {
    argv: [],
    output: new Output(sink, sink, { NO_COLOR: '1' }),
    environment: { SVC_URL: api.url, SVC_TOKEN: 'tok' },
    cwd: directoryFor(t),
    stdin: process.stdin,
    interrupts: new Interrupts(),
  }
  await createProgram(context).parseAsync(['nodes', 'show', node.name, ...more], { from: 'user' })
  return printed
}

describe('svc nodes show', () => {
  test('fits a node, its latencies, wires and errors into 80 columns', async t => {
    const stdout = await show(t, NODE, [FAILED])
    for (const line of stdout.split('\n')) assert.ok(line.length <= 80, `${line.length} columns: ${line}`)
    assert.match(stdout, /^executions {2}1234567, 3 failed/m)
    assert.match(stdout, /^wait +all +1\.23M +2\.50 us +7\.50 us +50\.0 us$/m)
    assert.match(stdout, /^wait +minute +0 +- +- +-$/m)
    assert.match(stdout, /^execution +minute +1\.23M +1\.25 ms +3\.75 ms +25\.0 ms$/m)
    assert.match(stdout, /^total +all +1\.23M +750 ms +2\.25 s +15\.0 s$/m)
    assert.match(stdout, /^temperature +yes +boiler_room_number_seven\.temperature +boiler/m)
    assert.match(stdout, /^total +all +1\.23M +1\.50 s +4\.50 s +30\.0 s +temperature$/m)
    assert.match(stdout, /^wait +all +0 +- +- +- +pressure$/m)
    assert.match(stdout, /^2026-01-02 03:04:05 +node_error +RangeError: \\x1b\[31mtoo hot/m)
  })

  test('prints the node with its errors as JSON', async t => {
    const stdout = await show(t, NODE, [FAILED], '--json')
    assert.deepEqual(JSON.parse(stdout), { ...NODE, last_errors: [FAILED] })
  })

  test('says that nothing was counted yet', async t => {
    const none = { wait: null, execution: null, total: null }
    const fresh = { ...NODE, minute: null, since_start: none, last_minute: null, wires: [] }
    const stdout = await show(t, fresh, [])
    assert.match(stdout, /^minute +not complete yet$/m)
    assert.match(stdout, /^wait +all +0 +- +- +-$/m)
  })
})
