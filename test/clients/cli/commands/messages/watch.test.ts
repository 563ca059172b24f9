import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ArtifactReference } from '../../../../../protocol/values/dtype.ts'
import { sharedEngine } from '../../../../kit/live-engine.ts'
import { code, flow, inject, input, output, Story } from '../../../../kit/live-story.ts'
import { directoryFor, eventually, Spawned } from '../../../../kit/spawned.ts'
import { digestOfBytes } from '../../../../kit/stored-artifacts.ts'

const live = sharedEngine({ FLOW_LANES: '1' })

/** Pictures of different sizes, again and again. */
const pictures = (name: string) => {
  const draw = code(
    'draw',
    `export default async ({ tick }, ctx) => {
      const n = (ctx.state.n = (ctx.state.n ?? 0) + 1)
      const meta = { width: n, height: 2 }
      return { n, picture: await ctx.artifact(Buffer.alloc(1000 + n, n), 'image/jpeg', { volatile: true, meta }) }
    }`,
    [input('tick', 'bool')],
    [output('picture', 'image'), output('n', 'int')],
  )
  return new Story(live.engine).save(name, flow([inject('clock', { every_s: 0.05 }, output('tick', 'bool')), draw]))
}
const watch = (t: Parameters<typeof directoryFor>[0], cwd: string, ...argv: string[]): Spawned =>
  Spawned.svc(t, {
    argv: ['watch', ...argv],
    cwd,
    environment: { SVC_URL: live.url, SVC_TOKEN: readFileSync(join(live.data_dir, 'token'), 'utf8') },
  })

test('svc watch writes the newest frame to a file, whole, and tells size and rate', async t => {
  await pictures('cam')
  const cwd = directoryFor(t)
  const svc = watch(t, cwd, 'cam.picture', '--out', 'newest.jpg', '--count', '3')
  assert.equal((await svc.ended).code, 0, svc.stderr)
  const lines = svc.stdout.trim().split('\n')
  assert.equal(lines.length, 3)
  for (const line of lines) assert.match(line, /^frame \d+: image\/jpeg, \d+ x 2, [\d.]+ (Ki)?B, \d+\.\d\/s$/)
  const told = watch(t, cwd, 'cam.picture', '--json', '--count', '1', '--out', 'told.jpg')
  assert.equal((await told.ended).code, 0, told.stderr)
  const { digest, size, media_type } = JSON.parse(told.stdout) as ArtifactReference
  const bytes = readFileSync(join(cwd, 'told.jpg'))
  assert.deepEqual([digestOfBytes(bytes), bytes.length, media_type], [digest, size, 'image/jpeg'])
  assert.ok(readFileSync(join(cwd, 'newest.jpg')).length > 1000)
})

test('svc watch prints the values of any other message, and refuses what it cannot do', async t => {
  await pictures('count')
  const cwd = directoryFor(t)
  const svc = watch(t, cwd, 'count.n', '--count', '2')
  assert.equal((await svc.ended).code, 0, svc.stderr)
  assert.match(svc.stdout, /^\S+\+00:00 \d+\n\S+\+00:00 \d+\n$/)
  const wrong = watch(t, cwd, 'count.n', '--out', 'x')
  assert.equal((await wrong.ended).code, 2)
  assert.match(wrong.stderr, /count\.n is int/)
  const unknown = watch(t, cwd, 'count.nothing')
  assert.equal((await unknown.ended).code, 3)
  const open = watch(t, cwd, 'count.picture')
  await eventually('a frame', () => open.stdout.includes('frame'))
})
