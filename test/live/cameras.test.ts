import assert from 'node:assert/strict'
import { copyFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ArtifactReference } from '../../protocol/values/dtype.ts'
import { jpegHead } from '../../threads/connectors/media/jpeg.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, node, output, Story } from '../kit/live-story.ts'
import { fakeFfmpeg, httpCamera, pictures, skip, videoIn } from '../kit/media.ts'
import { RealEngine } from '../kit/real-engine.ts'
import { rtspServer } from '../kit/rtsp-server.ts'
import { ROOT } from '../kit/sources.ts'
import { directoryFor, isAlive } from '../kit/spawned.ts'

const live = sharedEngine()

interface Picture extends ArtifactReference {
  meta: { width: number; height: number; time: string; sequence: number }
}
const camera = (id: string, settings: Record<string, unknown>) =>
  node(id, 'camera', settings, [], [output('frame', 'image', { message: id })])
const bytesOf = async ({ digest }: ArtifactReference): Promise<Buffer> => {
  const token = readFileSync(join(live.data_dir, 'token'), 'utf8')
  const answer = await fetch(`${live.url}/artifacts/${digest}`, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(answer.status, 200)
  return Buffer.from(await answer.arrayBuffer())
}
const reason = (flow_name: string): string | undefined =>
  live.engine.flows.get(flow_name).issues.find(({ code }) => code === 'node_down')?.message

test('a video file is a camera: each frame is a JPEG in memory, with its size, time and number', { skip }, async t => {
  const story = new Story(live.engine)
  const source = videoIn(directoryFor(t))
  const look = code(
    'look',
    'export default async ({ belt }, ctx) => ({ bytes: (await ctx.read(belt)).length })',
    [input('belt', 'image')],
    [output('bytes', 'int')],
  )
  const belt = camera('belt', { source, fps: 20, width: 160, quality: 50 })
  await story.save('belt', flow([belt, look]))
  await story.reaches('belt.bytes', 3)
  const picture = story.value('belt.belt') as Picture
  const { width, height, has_tables } = jpegHead(await bytesOf(picture))!
  assert.deepEqual({ width, height, has_tables }, { width: 160, height: 90, has_tables: true })
  assert.deepEqual([picture.media_type, picture.meta.width, picture.meta.height], ['image/jpeg', 160, 90])
  assert.match(picture.meta.time, /^\d{4}-.*\+00:00$/)
  const numbers = ((await story.values('belt.belt', 3)) as Picture[]).map(({ meta }) => meta.sequence)
  assert.deepEqual(numbers.slice(0, 3), [1, 2, 3])
  await live.engine.flows.remove('belt', 'tests')
})

test('an HTTP camera is asked once for two nodes, its pictures stay as they are, and it may go and come back', {
  skip,
}, async t => {
  const story = new Story(live.engine)
  const frames = pictures(20)
  const there = await httpCamera(t, frames)
  const settings = { source: there.url, user: 'guard', password: 'secret' }
  await story.save('gate', flow([camera('one', settings), camera('two', settings)]))
  await story.reaches('gate.one', 3)
  await story.reaches('gate.two', 3)
  assert.equal(there.watching(), 1)
  const seen = await bytesOf(story.value('gate.one') as Picture)
  assert.ok(frames.some(frame => frame.equals(seen)))
  await there.leave()
  await eventually(() => reason('gate') !== undefined, 'the issue')
  assert.match(reason('gate')!, /gate\.(one|two)/)
  assert.ok(reason('gate')!.includes(there.url) && !reason('gate')!.includes('secret'))
  await there.comeBack()
  await eventually(() => reason('gate') === undefined, 'no issue')
  const version = story.version('gate.one')
  await story.reaches('gate.one', version + 2)
  await live.engine.flows.remove('gate', 'tests')
  await eventually(() => there.watching() === 0, 'nobody watches')
})

test('an RTSP camera that freezes is down until its frames come again', { skip }, async t => {
  const story = new Story(live.engine)
  const there = await rtspServer(t, directoryFor(t), ['-f', 'lavfi', '-i', 'testsrc2=size=160x90:rate=25'])
  await story.save('yard', flow([camera('yard', { source: there.url, fps: 10 })]))
  await story.reaches('yard.yard', 3)
  there.freeze()
  await eventually(() => reason('yard')?.includes('no frame for 2 s') ?? false, 'the issue')
  there.thaw()
  await eventually(() => reason('yard') === undefined, 'no issue')
  await live.engine.flows.remove('yard', 'tests')
})

test('what is no source is refused with the setting, and what cannot be opened is an issue of its node', {
  skip,
}, async t => {
  const story = new Story(live.engine)
  for (const source of ['concat:/a|/b', 'bottles.mp4', 'rtsp://me:secret@host/'])
    await assert.rejects(story.save('bad', flow([camera('bad', { source })])), /settings/)
  const text = join(directoryFor(t), 'text.mp4')
  copyFileSync(join(ROOT, 'LICENSE'), text)
  await story.save('bad', flow([camera('bad', { source: text }), camera('good', { source: 'test', fps: 5 })]))
  await eventually(() => reason('bad') !== undefined, 'the issue')
  assert.match(reason('bad')!, /bad\.bad.*text\.mp4: Invalid data/)
  await story.reaches('bad.good', 2)
  const silent = videoIn(directoryFor(t))
  const sound = node('bad', 'microphone', { source: silent }, [], [output('level', 'float')])
  await story.save('bad', flow([sound]))
  await eventually(
    () => reason('bad')?.includes('nothing in it to take a chunk from') === true,
    'the issue of a video without sound',
  )
  await live.engine.flows.remove('bad', 'tests')
})

test('a microphone gives chunks that stand alone, and how loud they are', { skip }, async () => {
  const story = new Story(live.engine)
  const microphone = (id: string, format: string) =>
    node(
      id,
      'microphone',
      { source: 'test', chunk_s: 0.2, format },
      [],
      [output('chunk', 'audio', { message: `${id}_chunk` }), output('level', 'float', { message: `${id}_level` })],
    )
  await story.save('hall', flow([microphone('wav', 'wav'), microphone('opus', 'opus')]))
  for (const id of ['wav', 'opus']) await story.reaches(`hall.${id}_level`, 2)
  const wav = story.value('hall.wav_chunk') as ArtifactReference
  const opus = story.value('hall.opus_chunk') as ArtifactReference
  assert.deepEqual([wav.media_type, wav.size], ['audio/wav', 44 + 16_000 * 2 * 0.2])
  assert.equal((await bytesOf(wav)).toString('latin1', 0, 4), 'RIFF')
  assert.equal(opus.media_type, 'audio/ogg')
  assert.equal((await bytesOf(opus)).toString('latin1', 28, 36), 'OpusHead')
  for (const id of ['wav', 'opus']) assert.ok(Math.abs((story.value(`hall.${id}_level`) as number) + 21.07) < 0.1)
  await live.engine.flows.remove('hall', 'tests')
})

test('no ffmpeg outlives an engine that is killed', async t => {
  const folder = directoryFor(t)
  fakeFfmpeg(folder, 'echo $$ > pid.new; mv pid.new pid; exec sleep 600')
  const engine = await RealEngine.start(t, { environment: { PATH: `${folder}:${process.env['PATH']}` } })
  await engine.save('cam', flow([camera('cam', { source: 'test' })]))
  await eventually(() => existsSync(join(folder, 'pid')), 'ffmpeg runs')
  const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'))
  assert.ok(isAlive(pid))
  process.kill(engine.pid, 'SIGKILL')
  await eventually(() => !isAlive(pid), 'it is gone')
})
