import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { FileLines, StreamLines } from '../../../threads/connectors/lines/listeners.ts'
import { linesAddress } from '../../../threads/nodes/lines-address.ts'

/** What a place that is listened to says: lines, losses, and how it is. */
class Taker {
  readonly lines: string[] = []
  readonly lost_lines: string[] = []
  readonly port = Promise.withResolvers<number | null>()
  readonly reason = Promise.withResolvers<string>()
  #more = Promise.withResolvers<void>()

  take(block: Buffer): null {
    this.takeNow(block)
    return null
  }
  takeNow(block: Buffer): void {
    this.lines.push(...block.toString().split('\n').slice(0, -1))
    this.#more.resolve()
    this.#more = Promise.withResolvers()
  }
  lost(reason: string): void {
    this.lost_lines.push(reason)
  }
  up(port: number | null): void {
    this.port.resolve(port)
  }
  down(reason: string): void {
    this.reason.resolve(reason)
  }
  async took(count: number): Promise<void> {
    while (this.lines.length < count) await this.#more.promise
  }
}

async function listening(t: TestContext): Promise<{ taker: Taker; place: StreamLines; socket: Socket }> {
  const taker = new Taker()
  const place = new StreamLines(linesAddress('tcp://127.0.0.1:0')!, () => 0.5)
  t.after(() => place.close())
  place.add(taker)
  place.begin()
  const socket = connect((await taker.port.promise)!, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  return { taker, place, socket }
}

test('a sender that drips the bytes of one line is closed when the line has not ended in time', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { taker, socket } = await listening(t)
  const closed = new Promise(resolve => socket.once('close', resolve))
  socket.write('whole\nbegun')
  await taker.took(1)
  for (const part of [0.4, 0.4, 0.4]) {
    socket.write('x')
    t.mock.timers.tick(limits.LINE_OPEN_MS * part)
  }
  await closed
  assert.deepEqual(taker.lost_lines, ['line_not_ended'])
})

test('a sender whose lines end goes on, however long it is silent between them', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { taker, socket } = await listening(t)
  for (let count = 1; count <= 5; count++) {
    socket.write(count === 1 ? 'a\nbeg' : 'un\nbeg')
    await taker.took(count)
    t.mock.timers.tick(limits.LINE_OPEN_MS * 0.8)
  }
  socket.write('un\n')
  await taker.took(6)
  t.mock.timers.tick(limits.LINE_OPEN_MS * 3)
  socket.write('last\n')
  await taker.took(7)
  assert.deepEqual(taker.lost_lines, [])
  assert.deepEqual(taker.lines, ['a', 'begun', 'begun', 'begun', 'begun', 'begun', 'last'])
})

test('what is no file is down and says so: a folder, a device, a pipe without a writer', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'lines-'))
  t.after(() => rmSync(folder, { recursive: true }))
  execFileSync('mkfifo', [join(folder, 'pipe')])
  for (const path of [folder, '/dev/zero', join(folder, 'pipe')]) {
    const taker = new Taker()
    const place = new FileLines(linesAddress(`file://${path}`)!, true, () => 0.5)
    t.after(() => place.close())
    place.add(taker)
    place.begin()
    assert.equal(await Promise.race([taker.reason.promise, taker.port.promise]), `file://${path}: it is not a file`)
  }
})

test('a Unix socket in a folder that is not there names the folder', async t => {
  const taker = new Taker()
  const place = new StreamLines(linesAddress('unix:///no/such/folder/lines.sock')!, () => 0.5)
  t.after(() => place.close())
  place.add(taker)
  place.begin()
  assert.match(await taker.reason.promise, /there is no folder \/no\/such\/folder$/)
})
