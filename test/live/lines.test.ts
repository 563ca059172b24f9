import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { appendFileSync, renameSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { limits } from '../../protocol/limits.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, node, output, Story } from '../kit/live-story.ts'

const live = sharedEngine()

const lines = (settings: Record<string, unknown>, ...fields: [string, Dtype][]) =>
  node(
    'lines',
    'lines',
    settings,
    [],
    fields.map(([name, dtype]) => output(name, dtype)),
  )

/** The port that the system gave a node that listens on port 0. */
async function portOf(flow_name: string): Promise<number> {
  const port = (): number | undefined => live.engine.nodes.get(`${flow_name}.lines`).gauges?.['port']
  await eventually(() => port() !== undefined, `the port of ${flow_name}`)
  return port()!
}

async function dial(flow_name: string): Promise<Socket> {
  const socket = connect(await portOf(flow_name), '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

test('every line of a TCP sender is one cascade with all of its fields, in order', async () => {
  const story = new Story(live.engine)
  const sum = code(
    'sum',
    `export default ({ a, b, tag }, ctx) => {
      ctx.state.runs = (ctx.state.runs ?? 0) + 1
      if (a !== b || tag !== 't' + a || a !== ctx.state.runs) throw new Error('mixed: ' + [a, b, tag, ctx.state.runs])
      return { runs: ctx.state.runs }
    }`,
    [input('a', 'int'), input('b', 'float'), input('tag', 'str')],
    [output('runs', 'int')],
  )
  await story.save(
    'many',
    flow([lines({ listen: 'tcp://127.0.0.1:0', format: 'influx' }, ['a', 'int'], ['b', 'float'], ['tag', 'str']), sum]),
  )
  const socket = await dial('many')
  const COUNT = 30_000
  let text = ''
  for (let n = 1; n <= COUNT; n++) text += `m,tag=t${n} a=${n}i,b=${n}\n`
  socket.end(text)
  await story.reaches('many.runs', COUNT)
  assert.equal(story.value('many.runs'), COUNT)
  assert.equal(story.node('many', 'sum').errors, 0)
  assert.deepEqual(live.engine.flows.get('many').issues, [])
})

test('a sender that is faster than the flow waits, and nothing is lost', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'lines')
  const slow = code(
    'slow',
    `${gate.source}export default async ({ n }) => { await opened(); return { seen: n } }`,
    [input('n', 'int')],
    [output('seen', 'int')],
  )
  await story.save('slow', flow([lines({ listen: 'tcp://127.0.0.1:0', format: 'json' }, ['n', 'int']), slow]))
  const socket = await dial('slow')
  const COUNT = 40_000
  const line = (n: number): string => `{"n":${n},"pad":"${'x'.repeat(500)}"}\n`
  let sent = 0
  // What the kernel does not take any more waits in the sender: 20 MB do not fit into the buffers of two sockets.
  while (sent < COUNT) {
    if (!socket.write(Array.from({ length: 1000 }, () => line(++sent)).join('')) && sent >= COUNT / 2) break
  }
  await eventually(() => story.version('slow.n') >= limits.FLOW_WAITING_ITEMS / 2, 'the flow is full')
  while (sent < COUNT) socket.write(line(++sent))
  assert.ok(socket.writableLength > 0, 'the sender is held back')
  gate.open()
  socket.end()
  await story.reaches('slow.seen', COUNT)
  assert.equal(story.value('slow.seen'), COUNT)
})

test('a bad line is an error of the node and is counted; those around it are taken', async () => {
  const story = new Story(live.engine)
  await story.save('bad', flow([lines({ listen: 'tcp://127.0.0.1:0', format: 'influx' }, ['x', 'int'])]))
  const socket = await dial('bad')
  socket.write(`m x=1i\nnonsense\nm x=2.5\nm x="a"\n${'y'.repeat(limits.LINE_BYTES)}y\nm x=2i\r\n`)
  await story.reaches('bad.x', 2)
  assert.deepEqual(await story.values('bad.x'), [1, 2])
  const errors = await story.errors('bad.lines', 2)
  assert.ok(errors.some(error => error.code === 'bad_line' && JSON.stringify(error.inputs).includes('nonsense')))
  await eventually(async () => (await story.dropped('bad_line')) >= 3, 'the bad lines are counted')
  await eventually(async () => (await story.dropped('line_too_long')) === 1, 'the long line is counted')
  socket.destroy()
})

test('UDP, a Unix socket and a file that grows are taken alike', async () => {
  const story = new Story(live.engine)
  const path = join(live.data_dir, 'x.sock')
  const log = join(live.data_dir, 'x.csv')
  writeFileSync(log, 'old,v\n1,1\n')
  await story.save('udp', flow([lines({ listen: 'udp://127.0.0.1:0', format: 'json' }, ['v', 'int'])]))
  await story.save('unix', flow([lines({ listen: `unix://${path}`, format: 'json' }, ['v', 'int'])]))
  await story.save('file', flow([lines({ listen: `file://${log}`, format: 'csv', columns: ['t', 'v'] }, ['v', 'int'])]))
  const datagrams = createSocket('udp4')
  datagrams.send('{"v":1}\n{"v":2}', await portOf('udp'), '127.0.0.1')
  await story.reaches('udp.v', 2)
  datagrams.close()
  const socket = connect(path)
  await once(socket, 'connect')
  socket.end('{"v":3}\n{"v":4}')
  await story.reaches('unix.v', 2)
  // Appended again until it is seen: the node may have looked for the end of the file after the first one.
  await eventually(() => {
    appendFileSync(log, '2,2\n')
    return story.version('file.v') > 0
  }, 'the file is followed')
  renameSync(log, `${log}.1`)
  writeFileSync(log, '3,33\n')
  await story.becomes('file.v', 33)
  assert.deepEqual(
    [await story.values('udp.v'), await story.values('unix.v')],
    [
      [1, 2],
      [3, 4],
    ],
  )
})

test('two nodes on one address get all lines each; one on an address that is taken by another program is down until it is free', async () => {
  const story = new Story(live.engine)
  await story.save('scout', flow([lines({ listen: 'tcp://127.0.0.1:0', format: 'json' }, ['v', 'int'])]))
  const port = await portOf('scout')
  await live.engine.flows.remove('scout', 'tests')
  const first = lines({ listen: `tcp://127.0.0.1:${port}`, format: 'json' }, ['v', 'int'])
  await story.save(
    'one',
    flow([first, { ...first, id: 'other', ports: { outputs: [output('v', 'int', { message: 'w' })] } }]),
  )
  const socket = await dial('one')
  socket.write('{"v":5}\n')
  await story.becomes('one.v', 5)
  await story.becomes('one.w', 5)
  // The same port by another name is another place.
  await story.save('taken', flow([lines({ listen: `tcp://localhost:${port}`, format: 'json' }, ['v', 'int'])]))
  await story.shows('taken', 'node_down')
  assert.match(story.issue('taken', 'node_down')!.message, /in use/)
  socket.destroy()
  await live.engine.flows.remove('one', 'tests')
  await eventually(() => story.issue('taken', 'node_down') === undefined, 'the address is free')
})

test('a port with a rate lets the first value and the newest of each interval pass, and the other fields of a line as they come', async () => {
  const story = new Story(live.engine)
  const source = node(
    'lines',
    'lines',
    { listen: 'tcp://127.0.0.1:0', format: 'json' },
    [],
    [output('v', 'int', { rate_hz: 2 }), output('w', 'int')],
  )
  await story.save('rated', flow([source]))
  const socket = await dial('rated')
  socket.write(Array.from({ length: 1000 }, (_, n) => `{"v":${n},"w":${n}}\n`).join(''))
  await story.becomes('rated.w', 999)
  await story.becomes('rated.v', 999)
  const values = await story.values('rated.v')
  assert.deepEqual([values[0], values.at(-1)], [0, 999])
  assert.ok(values.length < 1000 && story.version('rated.w') === 1000)
  socket.destroy()
})

test('a save that leaves the node as it is keeps its senders', async () => {
  const story = new Story(live.engine)
  const source = lines({ listen: 'tcp://127.0.0.1:0', format: 'json' }, ['v', 'int'])
  await story.save('kept', flow([source]))
  const socket = await dial('kept')
  socket.write('{"v":1}\n')
  await story.becomes('kept.v', 1)
  const twice = code('twice', 'export default ({ v }) => ({ y: v * 2 })', [input('v', 'int')], [output('y', 'int')])
  await story.save('kept', flow([source, twice]))
  socket.write('{"v":2}\n')
  await story.becomes('kept.y', 4)
  const closed = once(socket, 'close')
  await story.save('kept', flow([{ ...source, settings: { ...source.settings, format: 'influx' } }, twice]))
  await closed
})
