import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  type EngineFigureValues,
  type FlowFigureValues,
  followLive,
  type LiveSocket,
  type LiveSocketOptions,
} from '../../clients/client/index.ts'
import { finish } from '../../core/steps.ts'
import type { LiveFlows } from '../../server/flows/flows.ts'
import { CutProxy } from '../kit/cut-proxy.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../kit/live-story.ts'

const live = sharedEngine({ FLOW_LANES: '2' })
const token = (): string => readFileSync(join(live.data_dir, 'token'), 'utf8').trim()
const passing = (body = 'export default ({ x }) => ({ y: x })') =>
  flow([code('body', body, [input('x')], [output('y')])], { message: 'x', dtype: 'json' })

/** A program that follows what it likes, over a network that can be cut. */
class Program {
  readonly flows = new Map<string, FlowFigureValues>()
  readonly notices: string[] = []
  engine: EngineFigureValues | null = null
  readonly links: boolean[] = []
  socket!: LiveSocket

  static async start(t: TestContext, port: number, more: Partial<LiveSocketOptions> = {}): Promise<Program> {
    const program = new Program()
    program.socket = await followLive({
      find: () => ({ url: `http://127.0.0.1:${port}`, token: token() }),
      onFlowFigures: figures => program.flows.set(figures.flow, figures),
      onEngineFigures: figures => (program.engine = figures),
      onLink: url => program.links.push(url !== null),
      onNotice: text => program.notices.push(text),
      onFailure: error => assert.fail(String(error)),
      ...more,
    })
    t.after(() => program.socket.close())
    await eventually(() => program.links.length > 0, 'a connection')
    return program
  }
}

const proxyTo = (t: TestContext): Promise<CutProxy> => CutProxy.start(t, Number(new URL(live.url).port))

test('a program asks for figures of flows at any time and gets what the engine counts', async t => {
  const story = new Story(live.engine)
  await story.save('counted', passing())
  await story.save('failing', passing(`export default () => { throw new Error('no level') }`))
  const program = await Program.start(t, (await proxyTo(t)).port)
  program.socket.figures({ flows: ['counted', 'failing', 'nowhere'], engine: true })
  await eventually(() => program.notices.length === 1, 'a word about the unknown flow')
  assert.match(program.notices[0]!, /nowhere/)
  for (let value = 1; value <= 20; value++) story.publish('counted.x', value)
  story.publish('failing.x', 1)
  await eventually(() => program.flows.get('counted')?.messages['counted.y'] === 20, 'versions')
  await eventually(() => program.flows.get('failing')?.nodes['body']?.error === true, 'the error')
  const { enabled, waiting, nodes } = program.flows.get('counted')!
  assert.deepEqual(
    [enabled, waiting, nodes],
    [true, 0, { body: { executions: 20, errors: 0, waiting_for_input: 0, down: null, error: false } }],
  )
  await eventually(() => program.engine?.flows['failing']?.issues === 1, 'its issue')
  const { counted, failing } = program.engine!.flows
  assert.deepEqual(
    [counted, failing],
    [
      { enabled: true, executions: 20, errors: 0, published: 40, waiting: 0, issues: 0, down: 0 },
      { enabled: true, executions: 1, errors: 1, published: 1, waiting: 0, issues: 1, down: 0 },
    ],
  )
  assert.deepEqual(
    [program.engine!.status, program.engine!.runs, program.engine!.waiting_count],
    ['ok', { running: 0, queued: 0 }, 0],
  )
  await live.engine.nodes.acknowledge('failing.body', 'tests')
  await eventually(() => program.flows.get('failing')!.nodes['body']!.error === false, 'the acknowledgement')
})

test('figures are kept over reconnects, whole again, and those that nobody asked for any more end', async t => {
  const story = new Story(live.engine)
  for (const name of ['kept', 'left', 'going']) await story.save(name, passing())
  const proxy = await proxyTo(t)
  const program = await Program.start(t, proxy.port, { figures: { flows: ['kept', 'left', 'going'] } })
  await eventually(() => program.flows.size === 3, 'figures of all')
  program.socket.figures({ flows: ['kept', 'going'], engine: true })
  await live.engine.flows.remove('going', 'tests')
  await eventually(() => program.notices.some(text => text.includes('going')), 'a word about the removed flow')
  program.flows.clear()
  program.engine = null
  proxy.cut()
  await eventually(() => program.links.at(-1) === true && program.links.includes(false), 'another connection')
  story.publish('kept.x', 1)
  await eventually(() => program.flows.get('kept')?.messages['kept.y'] === 1, 'figures after the cut')
  await eventually(() => program.engine?.flows['kept']?.executions === 1, 'those of the engine')
  assert.deepEqual([...program.flows.keys()], ['kept'])
  program.socket.figures({})
  // Answered behind it on the same connection.
  await program.socket.publish('kept.x', 2)
  program.flows.clear()
  const other = await Program.start(t, Number(new URL(live.url).port), { figures: { flows: ['kept'] } })
  await eventually(() => other.flows.get('kept')?.messages['kept.y'] === 2, 'figures of another program')
  assert.equal(program.flows.size, 0)
})

test('as many issues are counted as a flow shows', async () => {
  const story = new Story(live.engine)
  await story.save(
    'reads_none',
    flow([code('a', 'export default () => {}', [input('x', 'json', { message: 'no.y' })])]),
  )
  await story.save('throws', passing(`export default () => { throw new Error('no') }`))
  await story.save(
    'is_down',
    passing(`export default ({}, ctx) => { ctx.report('down', 'no sensor'); throw new Error('no') }`),
  )
  story.publish('throws.x', 1)
  story.publish('is_down.x', 1)
  await story.shows('throws', 'node_error')
  await story.shows('is_down', 'node_down')
  await story.shows('is_down', 'node_error')
  const counts = finish((live.engine.flows as LiveFlows).troubles())
  const shown = live.engine.flows.list({ limit: 100, offset: 0 }).items
  assert.deepEqual(
    shown.map(({ name }) => [name, counts.get(name)!.issues]),
    shown.map(({ name, issues }) => [name, issues.filter(({ advisory }) => !advisory).length]),
  )
  assert.deepEqual(counts.get('is_down'), { issues: 2, down: 1 })
  // What another flow declares now mends the wiring of the first.
  await story.save('no', passing())
  assert.equal(finish((live.engine.flows as LiveFlows).troubles()).get('reads_none')!.issues, 0)
})
