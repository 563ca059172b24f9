import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { Client } from '@modelcontextprotocol/client'
import { connect } from '../../clients/client/index.ts'
import { limits } from '../../protocol/limits.ts'
import { SCOPES, type Scope } from '../../protocol/words/scopes.ts'
import { TOOLS } from '../../server/mcp/server.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, output } from '../kit/live-story.ts'
import { called, mcpClient } from '../kit/mcp-client.ts'
import { ROOT } from '../kit/sources.ts'

const live = sharedEngine()

async function client(t: TestContext, ...scopes: Scope[]): Promise<Client> {
  const admin = connect({ url: live.url, token: readFileSync(join(live.data_dir, 'token'), 'utf8').trim() })
  const { token } = await admin.clients.create({ name: 'agent', scopes })
  admin.close()
  return mcpClient(t, live.url, token)
}
const author = (t: TestContext): Promise<Client> => client(t, 'read', 'publish', 'run', 'edit', 'code')

const X = input('x', 'float', { message: 'x' })
const body = (source: string, more = {}) =>
  flow([code('body', source, [X], [output('y', 'float', { message: 'y' })], more)], { message: 'x', dtype: 'float' })
const doubles = body(
  'export default ({ x }, ctx) => { ctx.log("x is " + x); ctx.metric("x", x, 0); ctx.metric("x", x + 1, 1); return { y: 2 * x } }',
)

async function saved(agent: Client, name: string, document: object): Promise<void> {
  const { refused, text } = await called(agent, 'save_flow', { name, document, base_version: 0 })
  assert.equal(refused, null, text)
}

async function ran(agent: Client, name: string, x: number): Promise<string> {
  const { value, text } = await called(agent, 'start_run', { flow: name, inputs: { x } })
  assert.ok(value.run, text)
  await called(agent, 'follow_run', { run: value.run.id, wait_s: 50 })
  return value.run.id
}

describe('the tools', () => {
  test('say what they are, ask for one scope each, and take no argument that they do not know', () => {
    for (const { name, title, description, scope, input, reads_only } of TOOLS) {
      assert.match(name, /^[a-z]+(_[a-z]+)*$/)
      assert.ok(title.length > 3 && description.length > 30, name)
      assert.ok(SCOPES.includes(scope), name)
      assert.equal((input as { additionalProperties?: unknown }).additionalProperties, false, name)
      assert.equal(reads_only, scope === 'read' || name === 'search' || name === 'validate_flow', name)
      for (const [argument, schema] of Object.entries(input.properties as Record<string, Record<string, unknown>>))
        if (schema['type'] === 'integer') assert.ok('minimum' in schema && 'maximum' in schema, `${name} ${argument}`)
    }
    assert.equal(new Set(TOOLS.map(({ name }) => name)).size, TOOLS.length)
  })

  test('are listed for those who may call them, and refused to others before their arguments are looked at', async t => {
    for (const scope of SCOPES) {
      const agent = await client(t, scope)
      const listed = new Set((await agent.listTools()).tools.map(({ name }) => name))
      for (const tool of TOOLS) {
        assert.equal(listed.has(tool.name), tool.scope === scope, `${tool.name} for ${scope}`)
        const { refused, value } = await called(agent, tool.name, { strange: 1 })
        assert.equal(refused, tool.scope === scope ? 'validation' : 'forbidden', `${tool.name} for ${scope}`)
        if (refused === 'forbidden')
          assert.match(value.message, new RegExp(`${tool.name} needs the scope "${tool.scope}"`))
      }
    }
  })

  test('are listed in docs/mcp.md with their scopes', () => {
    const page = readFileSync(join(ROOT, 'docs/mcp.md'), 'utf8')
    const rows = [...page.matchAll(/^\| `([a-z_]+)` \| `([a-z]+)` \|/gm)].map(([, name, scope]) => `${name} ${scope}`)
    assert.deepEqual(
      rows,
      TOOLS.map(({ name, scope }) => `${name} ${scope}`),
    )
  })

  test('a tool that is not there is an error of the protocol', async t => {
    await assert.rejects(
      (await author(t)).callTool({ name: 'drop_flow', arguments: {} }),
      /There is no tool "drop_flow"/,
    )
  })
})

describe('flows', () => {
  test('a save that somebody else has overtaken is refused, and says what to do next', async t => {
    const agent = await author(t)
    await saved(agent, 'overtaken', doubles)
    const { refused, value } = await called(agent, 'save_flow', {
      name: 'overtaken',
      document: body('export default () => ({})'),
      base_version: 0,
    })
    assert.equal(refused, 'stale_version')
    assert.match(value.message, /at version 1.*read_flow reads the newest version/)
  })

  test('a mistake in a document is told with its place, and nothing is saved by a check', async t => {
    const agent = await author(t)
    const { refused, value } = await called(agent, 'validate_flow', {
      name: 'wrong',
      document: body('export default ({ x }) => {'),
    })
    assert.equal(refused, 'syntax_error')
    assert.match(value.errors[0].loc, /^nodes\[0\]\.source/)
    assert.equal((await called(agent, 'validate_flow', { name: 'wrong', document: doubles })).value.valid, true)
    assert.equal((await called(agent, 'read_flow', { name: 'wrong' })).refused, 'flow_not_found')
  })

  test('an agent that may edit and not code changes settings, and no body', async t => {
    await saved(await author(t), 'tuned', doubles)
    const agent = await client(t, 'read', 'edit')
    const { document, version } = (await called(agent, 'read_flow', { name: 'tuned' })).value
    const [node] = document.nodes.items
    const save = (changed: object) =>
      called(agent, 'save_flow', {
        name: 'tuned',
        document: { ...document, nodes: [{ ...node, ...changed }] },
        base_version: version,
      })
    assert.equal((await save({ source: 'export default () => ({ y: 1 })' })).refused, 'forbidden')
    assert.equal((await save({ timeout: 5 })).value.version, 2)
    const check = await called(agent, 'validate_flow', {
      name: 'tuned',
      document: body('export default () => ({ y: 1 })'),
    })
    assert.equal(check.refused, 'forbidden')
  })

  test('a long flow is shown by the beginnings of its nodes, page by page, and a node of it whole', async t => {
    const agent = await author(t)
    const long = `export default ({ x }) => ({ y: x })\n// ${'x'.repeat(100_000)}`
    const nodes = Array.from({ length: 120 }, (_, at) =>
      code(
        `n${at}`,
        at === 7 ? long : `export default () => ({ y: ${at} }) // ${'y'.repeat(600)}`,
        [X],
        [output('y', 'float', { message: `y${at}` })],
      ),
    )
    await saved(agent, 'long', flow(nodes, { message: 'x', dtype: 'float' }))
    let shown = 0
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const { value, text } = await called(agent, 'read_flow', { name: 'long', offset })
      assert.ok(text.length <= limits.MCP_RESULT_BYTES, `${text.length} bytes`)
      shown += value.document.nodes.items.length
      offset = value.document.nodes.next_offset
    }
    assert.equal(shown, 120)
    const { value, text } = await called(agent, 'read_flow', { name: 'long', node: 'n3' })
    assert.match(value.node.source, /y: 3/)
    assert.ok(text.length < 4_000)
    let source = ''
    for (let from: string | undefined = '0'; from !== undefined; ) {
      const read = await called(agent, 'read_flow', { name: 'long', node: 'n7', source_from: Number(from) })
      const node: Record<string, string> = read.value.node
      source += node['source']
      from = /source_from (\d+)/.exec(node['source_part']!)?.[1]
    }
    assert.equal(source, long)
  })

  test('what is wrong with flows is listed', async t => {
    const agent = await author(t)
    const wire = flow([code('reads', 'export default () => ({})', [input('x', 'float', { message: 'nowhere.x' })])])
    await saved(agent, 'dangling', wire)
    const { value } = await called(agent, 'list_issues', { flow: 'dangling' })
    assert.deepEqual([value.items[0].flow, value.items[0].code], ['dangling', 'unknown_flow'])
    assert.ok((await called(agent, 'list_issues')).value.count >= 1)
    const listed = (await called(agent, 'list_flows', { limit: 1 })).value
    assert.deepEqual([listed.items.length, listed.next_offset], [1, 1])
  })
})

describe('messages', () => {
  test('a value is published, read, and found in the history as a table', async t => {
    const agent = await author(t)
    await saved(agent, 'meter', doubles)
    for (const value of [1, 2, 3])
      assert.equal((await called(agent, 'publish', { name: 'meter.x', value })).value.version, value)
    assert.equal((await called(agent, 'read_message', { name: 'meter.x' })).value.value, 3)
    const { text } = await called(agent, 'read_history', { name: 'meter.x', limit: 2 })
    assert.match(text, /^meter\.x \(float\)\nts\tversion\tvalue\n\S+\t2\t2\n\S+\t3\t3\n\[older rows/)
    const wrong = await called(agent, 'publish', { name: 'meter.x', value: 'three' })
    assert.deepEqual([wrong.refused, wrong.value.errors.length], ['wrong_dtype', 1])
    assert.equal((await called(agent, 'read_message', { name: 'meter.z' })).refused, 'message_not_found')
    assert.ok((await called(agent, 'list_messages', { flow: 'meter' })).value.count === 2)
  })

  test('a long history keeps its newest rows within the bound', async t => {
    const agent = await author(t)
    await saved(agent, 'texts', flow([], { message: 'x', dtype: 'str' }))
    for (let at = 0; at < 400; at++)
      live.engine.messages.publish([{ name: 'texts.x', value: `${at} ${'x'.repeat(180)}` }])
    const { text } = await called(agent, 'read_history', { name: 'texts.x', limit: 1_000 })
    assert.ok(text.length <= limits.MCP_RESULT_BYTES)
    assert.match(text, /\t399 x+/)
    assert.match(text, /\[the first \d+ of 400 rows were cut/)
  })
})

describe('runs', () => {
  test('two runs are compared, their metrics are small tables, and their log is read', async t => {
    const agent = await author(t)
    await saved(agent, 'twice', doubles)
    const [a, b] = [await ran(agent, 'twice', 1), await ran(agent, 'twice', 5)]
    const compared = (await called(agent, 'compare_runs', { a, b })).value.differences.items
    assert.deepEqual(compared.map(({ path }: { path: string }) => path).sort(), ['inputs.x', 'result.y'])
    const figures = (await called(agent, 'read_metrics', { run: b })).text
    assert.match(figures, new RegExp(`${b}\\ttwice.body.x\\t2\\t5\\t6\\t5\\t6`))
    const curve = (await called(agent, 'read_metrics', { flow: 'twice', name: 'twice.body.x' })).text
    assert.equal(curve.split('\n').length, 2 + 4)
    const { lines } = (await called(agent, 'read_run_logs', { run: a })).value
    assert.match(lines[0], /^1 body info: x is 1$/)
    assert.equal((await called(agent, 'list_runs', { flow: 'twice' })).value.count, 2)
    const node = (await called(agent, 'read_run', { run: b, node: 'body' })).value
    assert.deepEqual(node.outputs, { 'twice.y': 10 })
  })

  test('a run that goes on is followed for a bounded time, and cancelled', async t => {
    const agent = await author(t)
    await saved(
      agent,
      'slow',
      body('export default async ({ x }, ctx) => { await new Promise(r => setTimeout(r, 600000)); return { y: x } }'),
    )
    const { id } = (await called(agent, 'start_run', { flow: 'slow', inputs: { x: 1 } })).value.run
    assert.equal((await called(agent, 'follow_run', { run: id, wait_s: 0.2 })).value.has_ended, false)
    assert.equal(
      (await called(agent, 'follow_run', { run: id, wait_s: limits.MCP_FOLLOW_S + 1 })).refused,
      'validation',
    )
    assert.equal((await called(agent, 'cancel_run', { run: id })).refused, null)
    const { value } = await called(agent, 'follow_run', { run: id, wait_s: 50 })
    assert.deepEqual([value.has_ended, value.status], [true, 'cancelled'])
    assert.equal((await called(agent, 'cancel_run', { run: id })).refused, 'run_ended')
  })

  test('why a run failed is explained by the error, the node and the prompt', async t => {
    const agent = await author(t)
    await saved(agent, 'fails', body('export default ({ x }) => { throw new RangeError("too warm: " + x) }'))
    const run = await ran(agent, 'fails', 99)
    const explained = (await called(agent, 'explain_error', { run })).value
    assert.deepEqual([explained.code, explained.nodes[0].node], ['node_error', 'body'])
    assert.match(explained.error.message, /too warm: 99/)
    assert.deepEqual((await called(agent, 'explain_error', { code: 'stale_version' })).value.means, 'Stale version')
    assert.match((await called(agent, 'explain_error', { node: 'fails.body' })).value.source, /RangeError/)
    assert.equal((await called(agent, 'explain_error')).refused, 'validation')
    const prompt = await agent.getPrompt({ name: 'why_did_this_run_fail', arguments: { run: run.slice(-12) } })
    assert.match((prompt.messages[0]!.content as { text: string }).text, /too warm: 99/)
  })

  test('a record that is too long to show is shown by its head', async t => {
    const agent = await author(t)
    await saved(
      agent,
      'wide',
      flow(
        [
          code(
            'body',
            'export default ({ n }) => ({ y: "x".repeat(n) })',
            [input('n', 'int', { message: 'n' })],
            [output('y', 'str', { message: 'y' })],
          ),
        ],
        { message: 'n', dtype: 'int' },
      ),
    )
    const { value } = await called(agent, 'start_run', { flow: 'wide', inputs: { n: 600_000 } })
    const followed = await called(agent, 'follow_run', { run: value.run.id, wait_s: 50 })
    assert.deepEqual([followed.value.has_ended, followed.value.status], [true, 'succeeded'])
    assert.match(followed.value.note, /too long to show/)
  })
})

describe('what else there is', () => {
  test('events, status, activity, node types and guides are read', async t => {
    const agent = await author(t)
    await saved(agent, 'told', doubles)
    const { items } = (await called(agent, 'list_events', { flow: 'told', type: 'flow_saved' })).value
    assert.match(items[0].by, /^client:agent:/)
    assert.equal((await called(agent, 'list_events', { type: 'audit' })).refused, 'forbidden')
    assert.equal((await called(agent, 'read_status')).refused, null)
    assert.match((await called(agent, 'read_activity')).text, /^activity, bins of 300 s\nts\tpublished/)
    const types = (await called(agent, 'list_node_types')).value
    for (const { name } of types)
      assert.match((await called(agent, 'read_node_type', { name })).text, /"settings"/, name)
    assert.equal((await called(agent, 'read_node_type', { name: 'inyect' })).refused, 'unknown_node_type')
    assert.match((await called(agent, 'read_guide', { name: 'flow-document' })).text, /# The flow document/)
  })

  test('who may search finds what was saved a moment ago', async t => {
    await saved(await author(t), 'sought', doubles)
    const agent = await client(t, 'read', 'admin')
    await eventually(async () => {
      const { value } = await called(agent, 'search', { text: 'sought' })
      return JSON.stringify(value.found).includes('sought')
    }, 'the flow is found')
    assert.equal((await called(await author(t), 'search', { text: 'sought' })).refused, 'forbidden')
  })

  test('a save by an agent is an audit event', async t => {
    const agent = await author(t)
    await saved(agent, 'audited', doubles)
    const { items } = await live.engine.observe.events({
      type: 'audit',
      audit: true,
      flow: null,
      since_us: null,
      until_us: null,
      limit: 20,
      offset: 0,
    })
    const event = items.find(one => one['object'] === 'flow:audited')
    assert.deepEqual([event?.['action'], event?.['result'], event?.['address']], ['flow_saved', 'ok', '127.0.0.1'])
  })

  test('flows, runs and node types are resources', async t => {
    const agent = await author(t)
    await saved(agent, 'shown', doubles)
    const run = await ran(agent, 'shown', 4)
    const { resources } = await agent.listResources()
    assert.ok(
      resources.some(({ uri }) => uri === 'svc://flows/shown') &&
        resources.some(({ uri }) => uri === 'svc://node-types/inject'),
    )
    assert.equal((await agent.listResourceTemplates()).resourceTemplates.length, 3)
    const read = async (uri: string) => ((await agent.readResource({ uri })).contents[0] as { text: string }).text
    assert.match(await read('svc://flows/shown'), /"version":1/)
    assert.match(await read(`svc://runs/${run}`), /"shown\.y":8|"y":8/)
    assert.match(await read('svc://node-types/delay'), /# delay/)
    for (const uri of [
      'svc://flows/none',
      'svc://flows/../x',
      'svc://node-types/none',
      'file:///etc/passwd',
      'svc://runs/none',
    ])
      await assert.rejects(read(uri), /There is no|no such|not found/i, uri)
    const { prompts } = await agent.listPrompts()
    assert.deepEqual(
      prompts.map(({ name }) => name),
      ['write_a_flow', 'why_did_this_run_fail'],
    )
    const prompt = await agent.getPrompt({ name: 'write_a_flow', arguments: { goal: 'count bottles' } })
    assert.match((prompt.messages[0]!.content as { text: string }).text, /count bottles/)
    await assert.rejects(agent.getPrompt({ name: 'write_a_flow', arguments: {} }), /needs the argument "goal"/)
  })

  test('who may not read sees no resources and no prompts', async t => {
    const agent = await client(t, 'publish')
    assert.deepEqual((await agent.listResources()).resources, [])
    assert.deepEqual((await agent.listPrompts()).prompts, [])
    await assert.rejects(agent.readResource({ uri: 'svc://flows/shown' }), /need the scope "read"/)
    await assert.rejects(agent.getPrompt({ name: 'write_a_flow', arguments: { goal: 'x' } }), /need the scope "read"/)
  })
})
