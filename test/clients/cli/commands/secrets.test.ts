import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { backup } from '../../../../server/installation/backup/backup.ts'
import { restore } from '../../../../server/installation/backup/restore.ts'
import { RealEngine } from '../../../kit/real-engine.ts'
import { directoryFor, type Ending, Spawned } from '../../../kit/spawned.ts'

const ends: (() => Promise<void> | void)[] = []
let engine: RealEngine
before(async () => {
  engine = await RealEngine.start({ after: end => ends.push(end as () => void) } as Ending)
})
after(async () => {
  for (const end of ends) await end()
})

/** One command against the engine, with these bytes on its standard input. */
async function svc(t: Ending, argv: string[], bytes: string | Buffer = '') {
  const environment = { SVC_URL: engine.url, SVC_TOKEN: engine.token }
  const run = Spawned.svc(t, { argv, environment, cwd: directoryFor(t) })
  run.child.stdin!.end(bytes)
  const { code } = await run.ended
  return { code, stdout: run.stdout, stderr: run.stderr }
}

test('a value is read from standard input, listed by its name alone, and removed', async t => {
  const set = await svc(t, ['secrets', 'set', 'api key/1'], 's3cret value\n')
  assert.deepEqual([set.code, set.stdout], [0, ''], set.stderr)
  const listed = await svc(t, ['secrets', 'list', '--json'])
  const { items } = JSON.parse(listed.stdout) as { items: { name: string; used_by: string[] }[] }
  assert.deepEqual(
    items.map(({ name, used_by }) => [name, used_by]),
    [['api key/1', []]],
  )
  assert.doesNotMatch(set.stderr + listed.stdout, /s3cret/)
  const rekeyed = await svc(t, ['secrets', 'rekey', '--json'])
  assert.deepEqual(JSON.parse(rekeyed.stdout), { count: 1 })
  assert.equal((await svc(t, ['secrets', 'delete', 'api key/1'])).code, 0)
  const again = await svc(t, ['secrets', 'delete', 'api key/1'])
  assert.equal(again.code, 3)
  assert.match(again.stderr, /no secret "api key\/1".*svc secrets list/s)
})

test('a value is no argument, no bytes and not empty', async t => {
  assert.equal((await svc(t, ['secrets', 'set', 'a', 'b'])).code, 2)
  const bytes = await svc(t, ['secrets', 'set', 'a'], Buffer.from([0xff, 0xfe, 1, 2]))
  assert.equal(bytes.code, 2)
  assert.match(bytes.stderr, /not UTF-8.*base64/s)
  assert.notEqual((await svc(t, ['secrets', 'set', 'a'], '')).code, 0)
  assert.deepEqual(JSON.parse((await svc(t, ['secrets', '--json'])).stdout).items, [])
})

test('a backup from before a rekey is restored beside the key file of today, and its secrets open', async t => {
  await svc(t, ['secrets', 'set', 'kept'], 'value of before')
  const folder = directoryFor(t)
  const file = join(folder, 'engine.tar')
  await backup(engine.data_dir, file)
  assert.equal((await svc(t, ['secrets', 'rekey'])).code, 0)
  const data_dir = join(folder, 'restored')
  restore(data_dir, file)
  cpSync(join(engine.data_dir, 'key.pem'), join(data_dir, 'key.pem'))
  const restored = await RealEngine.start(t, { data_dir })
  const source = `export default async (_, ctx) => ({ y: (await ctx.secret('kept')).length })`
  await restored.save('reads', {
    nodes: [
      {
        id: 'body',
        type: 'code',
        source,
        ports: { inputs: [{ name: 'x', dtype: 'int' }], outputs: [{ name: 'y', dtype: 'int' }] },
      },
    ],
    inputs: [{ message: 'x', dtype: 'int' }],
  })
  const { json } = await restored.ask('POST', '/runs/flows/reads', { inputs: { x: 1 } })
  let run = json as { id: string; status: string; result: unknown }
  while (run.status === 'queued' || run.status === 'running') run = (await restored.ask('GET', `/runs/${run.id}`)).json
  assert.deepEqual([run.status, run.result], ['succeeded', { y: 15 }])
})
