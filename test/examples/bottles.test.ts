import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import motion from '../../docs/examples/bottles/motion.ts'
import { example } from '../../docs/examples/index.ts'
import type { FlowDocument } from '../../protocol/nouns/flow-document.ts'
import type { ArtifactReference } from '../../protocol/values/dtype.ts'
import { FrameCutter } from '../../threads/connectors/media/frames.ts'
import { eventually, liveEngine } from '../kit/live-engine.ts'
import { Story } from '../kit/live-story.ts'
import { skip as noFfmpeg, speechSkip } from '../kit/media.ts'
import { rtspServer } from '../kit/rtsp-server.ts'
import { ROOT } from '../kit/sources.ts'
import { directoryFor } from '../kit/spawned.ts'
import { digestOfBytes, StoredFiles } from '../kit/stored-artifacts.ts'

const VIDEO = join(ROOT, 'docs/examples/bottles/data/bottles.mp4')

function hasSharp(): boolean {
  try {
    createRequire(import.meta.url)('sharp')
    return true
  } catch {
    return false
  }
}
const skip = noFfmpeg || (hasSharp() ? false : 'needs the optional package sharp, which is not installed')

const bottles = (): FlowDocument => example('bottles').document
const settingsOf = (document: FlowDocument, id: string): Record<string, unknown> =>
  document.nodes.find(node => node.id === id)!.settings!

/** An engine whose bodies find the packages of this repository. */
async function engineHere(t: TestContext) {
  const live = await liveEngine(t)
  symlinkSync(join(ROOT, 'node_modules'), join(live.data_dir, 'node_modules'))
  return live
}

test('each movement in the video is found once, when it starts', { skip }, async () => {
  const words = ['-nostdin', '-loglevel', 'error', '-i', VIDEO, '-vf', 'fps=5', '-q:v', '5', '-f', 'mpjpeg']
  const { stdout } = spawnSync('ffmpeg', [...words, '-boundary_tag', 'frame', 'pipe:1'], { maxBuffer: 1e9 })
  const frames: Buffer[] = []
  assert.equal(new FrameCutter(1e9, frame => frames.push(Buffer.from(frame))).push(stdout), null)
  const ctx = {
    settings: settingsOf(bottles(), 'motion') as Parameters<typeof motion>[1]['settings'],
    state: {},
    read: async ({ digest }: { digest: string }) => frames[Number(digest)]!,
  }
  const starts: number[] = []
  for (const at of frames.keys())
    if ((await motion({ frame: { digest: String(at), media_type: 'image/jpeg' } }, ctx)).started) starts.push(at / 5)
  const seen = [5.8, 11.4, 15.6, 22, 27.2, 30.8, 35]
  assert.equal(starts.length, seen.length, String(starts))
  for (const [at, start] of starts.entries()) assert.ok(Math.abs(start - seen[at]!) < 0.5, String(starts))
})

test('a file and the same camera over RTSP: motion starts, and its picture is on the disk', { skip }, async t => {
  const { engine, data_dir } = await engineHere(t)
  const there = await rtspServer(t, directoryFor(t), ['-stream_loop', '-1', '-i', VIDEO])
  const story = new Story(engine)
  const over_rtsp = bottles()
  settingsOf(over_rtsp, 'shelf')['source'] = there.url
  assert.deepEqual((await story.save('bottles', bottles())).issues, [])
  await story.save('far', over_rtsp)
  for (const name of ['bottles', 'far']) {
    await story.reaches(`${name}.snapshot`, 1)
    const { digest, size } = story.value(`${name}.snapshot`) as ArtifactReference
    const bytes = new StoredFiles(data_dir).read(digest)
    assert.deepEqual([digestOfBytes(bytes), bytes.length], [digest, size])
    const { digest: newest } = story.value(`${name}.frame`) as ArtifactReference
    assert.ok(!new StoredFiles(data_dir).has(newest) || newest === digest, 'frames are in memory only')
    assert.equal(story.node(name, 'motion').errors, 0)
  }
  await story.reaches('bottles.level', 2)
  assert.ok(Math.abs((story.value('bottles.level') as number) + 21.07) < 0.1)
})

test('without ffmpeg the example runs: its camera and its microphone are down and say what to install', async t => {
  const path = process.env['PATH']
  process.env['PATH'] = '/nowhere'
  t.after(() => (process.env['PATH'] = path))
  const { engine } = await liveEngine(t)
  await new Story(engine).save('bottles', bottles())
  const down = () => engine.flows.get('bottles').issues.filter(({ code }) => code === 'node_down')
  await eventually(() => down().length === 2, 'both are down')
  for (const { message } of down()) assert.match(message, /apt-get install ffmpeg/)
})

test('speech is louder than the pause after it', { skip: speechSkip }, async t => {
  const { engine } = await engineHere(t)
  const folder = directoryFor(t)
  const spoken = join(folder, 'spoken.wav')
  spawnSync('espeak-ng', ['-w', spoken, 'three bottles stand on a shelf'])
  const padded = join(folder, 'padded.wav')
  spawnSync('ffmpeg', ['-nostdin', '-loglevel', 'error', '-i', spoken, '-af', 'apad=pad_dur=1', padded])
  const document = bottles()
  document.nodes = document.nodes.filter(({ id }) => id === 'room')
  Object.assign(settingsOf(document, 'room'), { source: padded, chunk_s: 0.2, loop: false, format: 'opus' })
  const story = new Story(engine)
  await story.save('speech', document)
  await story.becomes('speech.level', -96)
  const levels = (await story.values('speech.level')) as number[]
  assert.ok(Math.max(...levels) > -30, String(levels))
})
