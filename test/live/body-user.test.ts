import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { findBodyUser, openTo } from '../../server/calls/processes/body-user.ts'
import { BatchStory } from '../kit/batch-story.ts'
import { liveEngine } from '../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../kit/live-story.ts'

const needsRoot = (t: TestContext): boolean => {
  if (process.getuid?.() !== 0) t.skip('needs root, which can run bodies as another user')
  return process.getuid?.() === 0
}
const nobody = () => findBodyUser('nobody')
const one = (source: string) =>
  flow([code('body', source, [input('x', 'json')], [output('y', 'json')])], { message: 'x', dtype: 'json' })

/** Who runs it, as it is loaded and as it is called, and what becomes of an attempt to read each path. */
const TRIES = `import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
const loaded_by = process.getuid()
const attempt = (work) => { try { work(); return 'done' } catch (error) { return error.code } }
export default ({ x }) => ({ y: {
  ids: [loaded_by, process.getuid(), process.getgid(), process.getgroups().length],
  home: process.env.HOME,
  read: x.map(path => attempt(() => statSync(path).isDirectory() ? readdirSync(path) : readFileSync(path))),
  write: x.map(path => attempt(() => writeFileSync(statSync(path).isDirectory() ? path + '/mine' : path, 'mine', { flag: 'r+' }))),
  engine: attempt(() => readFileSync('/proc/' + process.ppid + '/environ')),
} })`

test('bodies run as the other user, who reads neither key nor database nor token, nor the memory of the engine', async t => {
  if (!needsRoot(t)) return
  const { engine, data_dir } = await liveEngine(t, { FLOW_LANES: '1', FLOW_MAX_WORKERS: '2', FLOW_BODY_USER: 'nobody' })
  const story = new Story(engine)
  await story.save('tries', one(TRIES))
  const names = readdirSync(data_dir)
  for (const name of ['key.pem', 'engine.db', 'token', 'serve.log', 'artifacts']) assert.ok(names.includes(name), name)
  const private_paths = [
    data_dir,
    ...names.filter(name => !['bodies', 'artifacts', 'exchange'].includes(name)).map(name => join(data_dir, name)),
  ]
  story.publish('tries.x', private_paths)
  const [live] = (await story.values('tries.y', 1)) as Record<string, unknown>[]
  const run = await new BatchStory(engine).runs('tries', { inputs: { x: private_paths } })
  const { uid, gid } = nobody()
  for (const seen of [live!, (run.result as { y: Record<string, unknown> }).y]) {
    assert.deepEqual((seen['ids'] as number[]).slice(0, 3), [uid, uid, gid])
    assert.notEqual(seen['home'], process.env['HOME'])
    for (const kind of ['read', 'write'] as const)
      for (const [at, code] of (seen[kind] as string[]).entries())
        assert.notEqual(code, 'done', `${kind} ${private_paths[at]}`)
    assert.equal(seen['engine'], 'EACCES')
  }
  for (const name of ['key.pem', 'engine.db', 'token']) {
    const { mode, uid } = statSync(join(data_dir, name))
    assert.deepEqual([mode & 0o077, uid], [0, 0], name)
  }
})

test('bodies that were stored before are readable for the other user, and writable for nobody else', async t => {
  if (!needsRoot(t)) return
  const environment: Record<string, string> = { FLOW_LANES: '1', FLOW_MAX_WORKERS: '1' }
  const live = await liveEngine(t, environment)
  const UID = `import { appendFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
export default () => {
  let code = 'done'
  try { appendFileSync(fileURLToPath(import.meta.url), '//') } catch (error) { code = error.code }
  return { y: [process.getuid(), code] }
}`
  await new Story(live.engine).save('uid', one(UID))
  environment['FLOW_BODY_USER'] = 'nobody'
  const story = new Story((await live.restart()).engine)
  story.publish('uid.x', 1)
  assert.deepEqual(await story.values('uid.y', 1), [[nobody().uid, 'EACCES']])
})

test('bodies store and read artifacts as the other user, those from before the setting too', async t => {
  if (!needsRoot(t)) return
  async function* bytes(text: string) {
    yield Buffer.from(text)
  }
  const environment: Record<string, string> = { FLOW_LANES: '1', FLOW_MAX_WORKERS: '1' }
  const live = await liveEngine(t, environment)
  const old = await live.engine.artifacts.put(bytes('from before'), null)
  environment['FLOW_BODY_USER'] = 'nobody'
  const { engine } = await live.restart()
  const story = new Story(engine)
  const copies = `export default async ({ x }, ctx) => {
    const read = await ctx.read(x)
    const made = await ctx.artifact('copy of ' + read, 'text/plain')
    return { y: [String(read), made.digest, String(await ctx.read(made))] }
  }`
  await story.save('copies', one(copies))
  const fresh = await engine.artifacts.put(bytes('from now'), null)
  for (const [at, { digest }] of [old, fresh].entries()) {
    story.publish('copies.x', { digest, media_type: 'text/plain' })
    const [text, made, again] = (await story.values('copies.y', at + 1))[at] as [string, string, string]
    assert.deepEqual([text, again], [at === 0 ? 'from before' : 'from now', `copy of ${text}`])
    // The engine finds what the body has stored, and may store it once more.
    const stored = await engine.artifacts.put(bytes(again), null)
    assert.deepEqual([stored.digest, stored.is_new], [made, false])
  }
  assert.equal((await engine.artifacts.sweep()).removed, 0)
})

test('a user who is none, is root, or cannot reach the files is refused by name', t => {
  if (!needsRoot(t)) return
  for (const bad of ['no-such-user', 'root', '0:0', '-1:-1', '65534'])
    assert.throws(() => findBodyUser(bad), { code: 'bad_setting', message: new RegExp(`FLOW_BODY_USER is "${bad}"`) })
  assert.deepEqual(findBodyUser('65534:65534'), { uid: 65534, gid: 65534, environment: {} })
  const closed = mkdtempSync(join(tmpdir(), 'closed-'))
  t.after(() => rmSync(closed, { recursive: true }))
  const data_dir = join(closed, 'data')
  mkdirSync(data_dir)
  assert.throws(() => openTo(nobody(), data_dir, join(data_dir, 'bodies')), {
    code: 'bad_setting',
    message: new RegExp(`cannot pass through ${closed}, `),
  })
  // A directory that its owner shares with a group is not taken from that group.
  const shared = mkdtempSync(join(tmpdir(), 'shared-'))
  t.after(() => rmSync(shared, { recursive: true }))
  chmodSync(shared, 0o750)
  const { gid } = statSync(shared)
  assert.throws(() => openTo(nobody(), shared, join(shared, 'bodies')), { message: new RegExp(`through ${shared}, `) })
  assert.deepEqual([statSync(shared).mode & 0o777, statSync(shared).gid], [0o750, gid])
  assert.ok(readFileSync('/etc/passwd', 'utf8').includes('nobody'))
})
