import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect, type MediaFrame } from '../../../../clients/client/index.ts'
import { sharedEngine } from '../../../kit/live-engine.ts'
import { flow, Story } from '../../../kit/live-story.ts'

const live = sharedEngine({ FLOW_LANES: '1' })
const tokenOf = (): string => readFileSync(join(live.data_dir, 'token'), 'utf8').trim()

async function camera(name: string) {
  const story = new Story(live.engine)
  await story.save(name, flow([], { message: 'picture', dtype: 'image' }, { message: 'number', dtype: 'int' }))
  const { volatile } = live.engine.artifacts as unknown as { volatile: { put(digest: Buffer, bytes: Buffer): boolean } }
  return {
    show(text: string): void {
      const bytes = Buffer.from(text)
      const digest = createHash('sha256').update(bytes).digest()
      volatile.put(digest, bytes)
      story.publish(`${name}.picture`, {
        digest: `sha256:${digest.toString('hex')}`,
        media_type: 'image/png',
        meta: { text },
      })
    },
  }
}
const client = () => connect({ url: live.url, token: tokenOf() })
const told = ({ name, version, media_type, meta, bytes }: MediaFrame) => [
  name,
  version,
  media_type,
  meta,
  Buffer.from(bytes).toString(),
]

test('a program reads the frames of a message as they come, the present one first', async () => {
  const { show } = await camera('shown')
  show('first')
  const seen: unknown[] = []
  for await (const frame of client().media(['shown.picture'])) {
    seen.push(told(frame))
    if (seen.length === 3) break
    show(seen.length === 1 ? 'second' : 'third')
  }
  assert.deepEqual(
    seen,
    ['first', 'second', 'third'].map((text, at) => ['shown.picture', at + 1, 'image/png', { text }, text]),
  )
})

test('who is slow gets the newest frame of each name', async () => {
  const [one, other] = [await camera('one'), await camera('other')]
  one.show('one 1')
  const frames = client().media(['one.picture', 'other.picture'])
  assert.equal((await frames.next()).value?.version, 1)
  for (let version = 2; version <= 50; version++) one.show(`one ${version}`)
  other.show('other 1')
  // What was sent before it has come when a later connection has got the last of it.
  for await (const { version } of client().media(['one.picture'])) if (version === 50) break
  for await (const { version } of client().media(['other.picture'])) if (version === 1) break
  const seen: MediaFrame[] = []
  while (!seen.some(({ name, version }) => name === 'one.picture' && version === 50) || seen.length < 2)
    seen.push((await frames.next()).value!)
  await frames.return()
  const versions = seen.filter(({ name }) => name === 'one.picture').map(({ version }) => version)
  assert.deepEqual(
    versions,
    [...versions].sort((a, b) => a - b),
  )
  assert.ok(versions.length < 49, `${versions}`)
  assert.deepEqual(
    seen.filter(({ name }) => name === 'other.picture').map(({ version }) => version),
    [1],
  )
})

test('a name without frames, a wrong token and a signal end it', async () => {
  await camera('ends')
  await assert.rejects(
    client().media(['ends.number']).next(),
    (error: { kind: string; message: string }) => error.kind === 'refused' && /ends\.number/.test(error.message),
  )
  await assert.rejects(
    connect({ url: live.url, token: 'none' }).media(['ends.picture']).next(),
    (error: { kind: string; status: number }) => error.kind === 'refused' && error.status === 401,
  )
  const stop = new AbortController()
  const waiting = client().media(['ends.picture'], { signal: stop.signal }).next()
  stop.abort(new RangeError('enough'))
  await assert.rejects(waiting, /enough/)
})

test('the example of the page runs as it stands', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/client.md'), 'utf8')
  const [, example] = /## Media\n[^`]*`[^`]*`[^`]*```ts\n([\s\S]*?)```/.exec(page) ?? []
  assert.ok(example !== undefined, 'docs/client.md has no example of media')
  const body = example
    .replace(/^import .*\n/m, '')
    .replace("url: 'http://127.0.0.1:8700'", 'url')
    .replace(/\n\}\n$/, '\n  break\n}\n')
  const { show } = await camera('camera')
  show('a picture')
  const lines: string[] = []
  const AsyncFunction = (async () => {}).constructor as new (
    ...words: string[]
  ) => (...given: unknown[]) => Promise<void>
  await new AsyncFunction('connect', 'url', 'token', 'console', body)(connect, live.url, tokenOf(), {
    log: (line: string) => lines.push(line),
  })
  assert.deepEqual(lines, ['camera.picture 1: 9 bytes of image/png'])
})
