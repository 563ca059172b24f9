import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import type { FlowDocument } from '../../../protocol/nouns/flow-document.ts'
import type { Run } from '../../../protocol/nouns/run.ts'
import type { RunLogLine, RunLogPage } from '../../../protocol/nouns/run-log.ts'
import { RealEngine } from '../../kit/real-engine.ts'
import { directoryFor, eventually, Spawned } from '../../kit/spawned.ts'

/** Prints twice, and goes on when a file is there. */
const TALKER: FlowDocument = {
  nodes: [
    {
      id: 'talk',
      type: 'code',
      source: `import { existsSync } from 'node:fs'
export default async ({ file }) => {
  console.log('first')
  console.error('\\x1b[31mbad')
  while (!existsSync(file)) await new Promise(resolve => setTimeout(resolve, 20))
  for (let at = 3; at <= 3000; at++) console.log('line', at)
}`,
      ports: { inputs: [{ name: 'file', dtype: 'str' }], outputs: [] },
    },
  ],
  inputs: [{ message: 'file', dtype: 'str' }],
}

test('svc runs logs prints the log of a run, and --follow goes on to its end; two of them do not disturb each other', async t => {
  const cwd = directoryFor(t)
  const engine = await RealEngine.start(t, { data_dir: `${cwd}/.svc` })
  await engine.save('talker', TALKER)
  const svc = (...argv: string[]): Spawned => Spawned.svc(t, { argv, cwd })
  const created = svc('run', 'talker', '--no-wait', '-p', `file=${cwd}/go`)
  assert.equal((await created.ended).code, 0, created.stderr)
  const id = created.stdout.trim()
  const followers = [
    svc('runs', 'logs', id.slice(24, 32), '--follow'),
    svc('runs', 'logs', id, '--follow', '--json', '--after', '1'),
  ]
  for (const follower of followers)
    await eventually('the first lines are printed', () => follower.stdout.includes('bad'))
  const goes = svc('runs', 'logs', id, '--level', 'error')
  assert.equal((await goes.ended).code, 0, goes.stderr)
  assert.match(goes.stdout, /^\S+ error talk: \S*\[31mbad\n$/)
  assert.ok(!goes.stdout.includes('\x1b'))
  writeFileSync(`${cwd}/go`, '')
  for (const follower of followers) assert.equal((await follower.ended).code, 0, follower.stderr)
  assert.equal(followers[0]!.stdout.trim().split('\n').length, 3000)
  const seqs = followers[1]!.stdout
    .trim()
    .split('\n')
    .map(line => (JSON.parse(line) as { seq: number }).seq)
  assert.deepEqual(
    seqs,
    Array.from({ length: 2999 }, (_, at) => at + 2),
  )
  const unknown = svc('runs', 'logs', '0198c0de-0000-7000-8000-000000000000', '--follow')
  assert.notEqual((await unknown.ended).code, 0)
  assert.match(unknown.stderr, /no run 0198c0de/)
})

test('lines that were answered are there after a kill, and the log of the interrupted run has an end', async t => {
  const data_dir = `${directoryFor(t)}/.svc`
  const engine = await RealEngine.start(t, { data_dir })
  const source = `export default async (_, ctx) => {
  for (let at = 1; ; at++) {
    ctx.log('line ' + at)
    if (at % 100 === 0) await new Promise(resolve => setTimeout(resolve, 5))
  }
}`
  await engine.save('endless', { nodes: [{ id: 'talk', type: 'code', source, ports: { inputs: [], outputs: [] } }] })
  const { id } = (await engine.ask('POST', '/runs/flows/endless', {})).json as { id: string }
  const answered = await eventually('many lines are stored', async () => {
    const { json } = await engine.ask('GET', `/runs/${id}/logs?after=2000&limit=1`)
    return (json as RunLogPage).items[0]?.seq
  })
  engine.process.child.kill('SIGKILL')
  await engine.process.ended
  const next = await RealEngine.start(t, { data_dir })
  assert.equal(((await next.ask('GET', `/runs/${id}`)).json as Run).error?.code, 'engine_restarted')
  const lines: RunLogLine[] = []
  for (let after: number | null = 0; after !== null; ) {
    const page: RunLogPage = (await next.ask('GET', `/runs/${id}/logs?after=${after}`)).json as RunLogPage
    lines.push(...page.items)
    after = page.next_after
  }
  assert.ok(lines.length >= answered)
  assert.ok(lines.every(({ seq, text }, at) => seq === at + 1 && text === `line ${seq}`))
})

test('svc run --local prints what bodies print', async t => {
  const cwd = directoryFor(t)
  const engine = await RealEngine.start(t, { data_dir: `${cwd}/.svc` })
  const source = `export default () => console.log('to be seen')`
  await engine.save('prints', { nodes: [{ id: 'talk', type: 'code', source, ports: { inputs: [], outputs: [] } }] })
  engine.process.child.kill('SIGTERM')
  await engine.process.ended
  const local = Spawned.svc(t, { argv: ['run', 'prints', '--local'], cwd })
  assert.equal((await local.ended).code, 0, local.stderr)
  assert.ok(local.stdout.includes('to be seen\n'), local.stdout)
})
