import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { CameraRecipe } from '../../../../threads/connectors/media/camera.ts'
import { Capture, type CaptureBounds } from '../../../../threads/connectors/media/capture.ts'
import { MediaInput } from '../../../../threads/connectors/media/input.ts'
import type { Kept } from '../../../../threads/connectors/media/kept.ts'
import { findPrograms } from '../../../../threads/connectors/media/programs.ts'
import { Reach } from '../../../../threads/connectors/reach.ts'
import type { MediaSource } from '../../../../threads/nodes/media-source.ts'
import { fakeFfmpeg, jpegOf, mpjpegOf } from '../../../kit/media.ts'
import { directoryFor, eventually, isAlive } from '../../../kit/spawned.ts'

const clock = { steadyMs: () => performance.now(), random: () => 1, nowUs: () => 0 }
const CAMERA: MediaSource = { kind: 'http', url: 'http://127.0.0.1:9/' }
const reach = new Reach({ allow: [], deny: [] })
const AS_IT_IS = { fps: null, width: null, quality: null }

interface Captured {
  folder: string
  /** What a node would report, and `frame`. */
  told: string[]
  capture: Capture<Kept>
  leave(): Promise<void>
}

/** A camera whose ffmpeg is a script; its folder has two frames. */
function captured(
  t: TestContext,
  script: string,
  bounds: Partial<CaptureBounds> = {},
  source: MediaSource = CAMERA,
): Captured {
  const folder = directoryFor(t)
  writeFileSync(join(folder, 'frame'), mpjpegOf(jpegOf(64, 48, { bytes: 5000 })))
  writeFileSync(join(folder, 'other'), mpjpegOf(jpegOf(64, 48, { tables: false })))
  const { programs } = fakeFfmpeg(folder, script)
  const told: string[] = []
  const input = new MediaInput(source, { user: 'guard', password: 'secret' }, false, { folder, reach })
  const capture = new Capture(new CameraRecipe(input, AS_IT_IS, clock), clock, { programs, ...bounds })
  const listener = {
    item: () => told.push('frame'),
    ok: () => told.push('ok'),
    down: (reason: string) => told.push(reason),
  }
  t.after(() => capture.leave(listener))
  capture.join(listener)
  return { folder, told, capture, leave: () => capture.leave(listener) }
}

/** A process whose thread is gone stays in the table, as ended, until this process ends: nobody asks for its status. */
function isRunning(pid: number): boolean {
  if (!isAlive(pid)) return false
  const [, state] = /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
  return state !== 'Z' && state !== 'X'
}

const says = (one: Captured, what: RegExp): Promise<string> =>
  eventually(`it says ${what}`, () => one.told.find(text => what.test(text)))

test('a stream that stalls is down, is started again, and is well with the next frame', async t => {
  const one = captured(t, 'cat frame; cat frame; exec sleep 60', { stall_ms: 300 })
  await eventually('a frame came after the stall', () => {
    const down = one.told.findIndex(text => text.includes('no frame for'))
    return down >= 0 && one.told.slice(down).includes('ok')
  })
  const stall = 'http://127.0.0.1:9/: no frame for 0.3 s'
  assert.deepEqual(one.told.slice(0, 6), ['ok', 'frame', 'frame', stall, 'ok', 'frame'])
})

test('an ffmpeg that gives nothing at all is ended', async t => {
  const one = captured(t, 'echo $$ > pid; exec sleep 60', { start_ms: 200 })
  await says(one, /no frame for/)
  const pid = Number(readFileSync(join(one.folder, 'pid'), 'utf8'))
  await eventually('it is gone', () => !isAlive(pid))
})

test('an ffmpeg that ends is a fault, whatever its status; its last line says more', async t => {
  const ended = captured(t, 'cat frame; exit 0')
  await says(ended, /^http:\/\/127.0.0.1:9\/: the stream ended$/)
  const failed = captured(t, 'echo "[http @ 0x1] http://guard:secret@127.0.0.1:9/: 401 Unauthorized" >&2; exit 1')
  assert.equal(await says(failed, /./), 'http://127.0.0.1:9/: 401 Unauthorized')
})

test('an ffmpeg that floods its errors is not kept in memory, and its last line is', async t => {
  const one = captured(t, 'yes "secret noise" | head -c 20000000 >&2; echo >&2; echo "the last line" >&2')
  assert.equal(await says(one, /./), 'http://127.0.0.1:9/: the last line')
})

test('what is no stream of frames is a fault', async t => {
  await says(captured(t, 'exec cat /dev/zero'), /something else than frames/)
  await says(
    captured(t, 'printf -- "--frame\\r\\nContent-length: 99999999\\r\\n\\r\\n"; exec sleep 60'),
    /99999999 bytes/,
  )
})

test('pictures that cannot be shown as they are, are encoded from then on, and nobody hears of it', async t => {
  const one = captured(t, 'case "$*" in *"copy"*) cat other; exec sleep 60;; *) cat frame; exec sleep 60;; esac')
  await says(one, /frame/)
  assert.deepEqual(one.told, ['ok', 'frame'])
})

test('a file that is played once ends well, and one that is none does not', async t => {
  const folder = directoryFor(t)
  writeFileSync(join(folder, 'video'), '')
  const file = (path: string): MediaSource => ({ kind: 'file', path })
  const played = captured(t, 'echo >> starts; cat frame', {}, file(join(folder, 'video')))
  await says(played, /frame/)
  await played.leave()
  assert.deepEqual(played.told, ['ok', 'frame'])
  await says(captured(t, 'exit 0', {}, file(join(folder, 'video'))), /ended without a frame/)
  await says(captured(t, 'cat frame', {}, file(join(folder, 'nothing'))), /nothing: there is no such file/)
  await says(captured(t, 'cat frame', {}, file(folder)), /it is not a file/)
})

test('closing ends an ffmpeg that does not listen, and one whose pipe is full', async t => {
  for (const script of [
    'trap "" TERM; echo $$ > pid; cat frame; while :; do sleep 0.05; done',
    'trap "" TERM; echo $$ > pid; while :; do cat frame || :; done',
  ]) {
    const one = captured(t, script)
    await says(one, /frame/)
    const pid = Number(readFileSync(join(one.folder, 'pid'), 'utf8'))
    await one.leave()
    await eventually('it is gone', () => !isAlive(pid))
  }
})

test('ffmpeg ends with the thread that has started it, also while its source is silent', async t => {
  const folder = directoryFor(t)
  const { programs } = fakeFfmpeg(folder, 'echo $$ > pid.new; mv pid.new pid; exec sleep 600')
  const module = new URL('../../../kit/capture-thread.ts', import.meta.url)
  const thread = new Worker(module, { workerData: await programs() })
  await eventually('it runs', () => existsSync(join(folder, 'pid')))
  const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'))
  assert.ok(isRunning(pid))
  await thread.terminate()
  await eventually('it has ended', () => !isRunning(pid))
})

test('a program that cannot be started is a fault like any other', async t => {
  const programs = async () => ({ ffmpeg: '/nowhere/ffmpeg', setpriv: '/nowhere/setpriv' })
  await says(captured(t, '', { programs }), /ENOENT/)
})

test('a machine without ffmpeg is told what to install, and ffmpeg is found when it comes', async t => {
  const folder = directoryFor(t)
  assert.match((await findPrograms(folder)) as string, /install it/)
  assert.match((await findPrograms('relative')) as string, /install it/)
  let path = folder
  const one = captured(t, '', { programs: () => findPrograms(path) })
  await says(one, /apt-get install ffmpeg/)
  fakeFfmpeg(folder, 'echo > here; exec sleep 60')
  path = `${folder}:/usr/bin`
  await eventually('it is started', () => existsSync(join(folder, 'here')))
})
