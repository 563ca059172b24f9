import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { Interrupts } from '../../../../../clients/cli/interrupts.ts'
import { Output } from '../../../../../clients/cli/output/output.ts'
import { createProgram } from '../../../../../clients/cli/program.ts'
import type { Latencies, NodeDetail, Quantiles } from '../../../../../protocol/nouns/node.ts'
import type { NodeError } from '../../../../../protocol/nouns/node-error.ts'
import { NODE_TYPES } from '../../../../../threads/nodes/types/index.ts'
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
  dropped: 0,
  down: null,
  down_since: null,
  target: null,
  place: 'lane',
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

const show = (t: TestContext, node: NodeDetail, errors: NodeError[], ...more: string[]): Promise<string> =>
  svc(
    t,
    {
      [`GET /nodes/${node.name}`]: { answer: node },
      [`GET /nodes/${node.name}/errors`]: { answer: { items: errors, count: errors.length } },
    },
    ['nodes', 'show', node.name, ...more],
  )

/** What a command prints on a terminal of 80 columns. */
async function svc(t: TestContext, routes: Record<string, { answer: unknown }>, words: string[]): Promise<string> {
  const api = await ApiDouble.start(t, routes)
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
  await createProgram(context).parseAsync(words, { from: 'user' })
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
    assert.doesNotMatch(stdout, /dropped|gauge/)
  })

  test('says what the node has dropped, and its gauges', async t => {
    const stdout = await show(t, { ...NODE, dropped: 17, gauges: { waiting_bytes: 4096 } }, [])
    assert.match(stdout, /^dropped {5}17 values or messages$/m)
    assert.match(stdout, /^gauge {7}waiting_bytes 4096$/m)
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

  test('tells of a connector where it runs, what it points at, and since when it is down', async t => {
    const poll: NodeDetail = { ...NODE, type: 'http-poll', place: 'connectors', target: 'http://tank:9000' }
    const well = await show(t, poll, [])
    assert.match(well, /^type +http-poll, runs in the connectors thread$/m)
    assert.match(well, /^target +http:\/\/tank:9000$/m)
    assert.match(well, /^state +ok$/m)
    const ill = await show(t, { ...poll, down: 'it answers 500', down_since: FAILED.ts }, [])
    assert.match(ill, /^down +since 2026-01-02 03:04:05: it answers 500$/m)
  })
})

const TYPES = {
  items: NODE_TYPES.map(({ name, summary, place, settings, inputs, outputs }) => ({
    ...{ name, summary, place, inputs, outputs },
    settings,
  })),
  count: NODE_TYPES.length,
}

describe('svc nodes types', () => {
  const routes = { 'GET /node-types': { answer: TYPES } }

  test('lists the types within 80 columns', async t => {
    const stdout = await svc(t, routes, ['nodes', 'types'])
    for (const line of stdout.split('\n')) assert.ok(line.length <= 80, `${line.length} columns: ${line}`)
    assert.match(stdout, /^http-poll +connectors +Asks an address/m)
  })

  test('shows the settings and ports of one', async t => {
    const stdout = await svc(t, routes, ['nodes', 'types', 'http'])
    assert.match(stdout, /^url +must be given +Where the request goes/m)
    assert.match(stdout, /^timeout_s +30 /m)
    assert.match(stdout, /^outputs +status \(int\); body \(json, str, artifact/m)
    await assert.rejects(svc(t, routes, ['nodes', 'types', 'htpp']), /no type of node "htpp"\. Did you mean "http"/)
  })
})

describe('svc issues', () => {
  const issue = (code: string, node: string | null, advisory = false) => ({
    ...{ code, node, advisory, message: `${code} of ${node}`, since: FAILED.ts },
  })
  const flows = [
    { name: 'a', issues: [issue('node_down', 'poll')] },
    { name: 'b', issues: [] },
    { name: 'c', issues: [issue('slow_body', 'train', true), issue('cycle', null)] },
  ]
  const routes = {
    'GET /flows': { answer: { items: flows, count: 3 } },
    'GET /flows/c': { answer: flows[2] },
    'GET /flows/b': { answer: flows[1] },
  }

  test('lists the issues of all flows, or of one, and says when there are none', async t => {
    const all = await svc(t, routes, ['issues'])
    assert.match(all, /^a +poll +node_down +2026-01-02 03:04:05 +node_down of poll$/m)
    assert.match(all, /^c +train +slow_body \(advice\)/m)
    const { items, count } = JSON.parse(await svc(t, routes, ['issues', '--flow', 'c', '--json']))
    assert.deepEqual(
      [items.map(({ flow, code }: { flow: string; code: string }) => [flow, code]), count],
      [
        [
          ['c', 'slow_body'],
          ['c', 'cycle'],
        ],
        2,
      ],
    )
    assert.match(await svc(t, routes, ['issues', '--flow', 'b']), /there are no issues/)
  })
})
