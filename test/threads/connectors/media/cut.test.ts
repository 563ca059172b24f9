import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FrameCutter } from '../../../../threads/connectors/media/frames.ts'
import { jpegHead } from '../../../../threads/connectors/media/jpeg.ts'
import { levelOf, SampleCutter } from '../../../../threads/connectors/media/sound.ts'
import { jpegOf, mpjpegOf } from '../../../kit/media.ts'
import { randomFrom, seed } from '../../../kit/random.ts'

/** The bytes in pieces of random sizes. */
function* pieces(bytes: Buffer, random: () => number, most: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + Math.floor(random() * most)
    yield bytes.subarray(at, at + length)
    at += length
  }
}

console.log(`seed ${seed}`)

test('frames are cut by their length, however they arrive and whatever is in them', () => {
  const random = randomFrom(seed)
  const frames = Array.from({ length: 40 }, (_, at) => jpegOf(at + 1, 9, { thumbnail: at % 2 === 0, bytes: at * 97 }))
  const stream = Buffer.concat(frames.map(mpjpegOf))
  for (const most of [1, 7, 1000, 1e6]) {
    const got: Buffer[] = []
    const cutter = new FrameCutter(1e6, frame => got.push(Buffer.from(frame)))
    for (const piece of pieces(stream, random, most)) assert.equal(cutter.push(piece), null)
    assert.deepEqual(got, frames)
  }
})

test('what is no frame, or too long a one, is a fault, and takes no memory', () => {
  const fault = (text: string): string | null => new FrameCutter(1000, () => {}).push(Buffer.from(text))
  assert.match(fault('--frame\r\nContent-length: 1001\r\n\r\n')!, /1001 bytes/)
  assert.match(fault('--frame\r\nContent-length: 99999999999999\r\n\r\n')!, /without its length/)
  assert.match(fault('--frame\r\nContent-type: image/jpeg\r\n\r\n')!, /without its length/)
  assert.match(fault('x'.repeat(5000))!, /something else/)
  assert.equal(fault('--frame\r\nContent-le'), null)
})

test('the size of a picture is its own, not that of its thumbnail, and tables are seen where they are', () => {
  assert.deepEqual(jpegHead(jpegOf(640, 360, { thumbnail: true })), { width: 640, height: 360, has_tables: true })
  assert.deepEqual(jpegHead(jpegOf(640, 360, { tables: false, thumbnail: true })), {
    width: 640,
    height: 360,
    has_tables: false,
  })
  const whole = jpegOf(640, 360)
  for (let length = 0; length < whole.length - 12; length++)
    assert.equal(jpegHead(whole.subarray(0, length)), null, `${length} bytes`)
  assert.equal(jpegHead(Buffer.from('not a picture at all')), null)
})

test('samples are cut by their number, and silence has a level', () => {
  const got: { wav: Buffer; level: number }[] = []
  const cutter = new SampleCutter(100, (wav, level) => got.push({ wav: Buffer.from(wav), level }))
  const samples = Buffer.alloc(500)
  for (let at = 0; at < 200; at += 2) samples.writeInt16LE(at % 4 === 0 ? 32767 : -32767, at)
  for (const piece of pieces(samples, randomFrom(seed), 33)) cutter.push(piece)
  assert.equal(got.length, 2)
  assert.ok(Math.abs(got[0]!.level) < 0.01)
  assert.equal(got[1]!.level, -96)
  assert.equal(got[0]!.wav.toString('latin1', 0, 4), 'RIFF')
  assert.equal(got[0]!.wav.readUInt32LE(40), 200)
  assert.deepEqual(got[0]!.wav.subarray(44), samples.subarray(0, 200))
  assert.equal(levelOf(Buffer.alloc(0)), -96)
})
