import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MediaInput } from '../../../../threads/connectors/media/input.ts'
import { Reach } from '../../../../threads/connectors/reach.ts'
import { type MediaSource, mediaSource } from '../../../../threads/nodes/media-source.ts'

const place = { folder: '/home/me', reach: new Reach({ allow: [], deny: [] }) }

test('a source is a file, an address, a device or the test source', () => {
  assert.deepEqual(mediaSource('test', 'video'), { kind: 'test' })
  assert.deepEqual(mediaSource('./bottles.mp4', 'video'), { kind: 'file', path: './bottles.mp4' })
  assert.deepEqual(mediaSource('/data/a:b.mp4', 'video'), { kind: 'file', path: '/data/a:b.mp4' })
  assert.deepEqual(mediaSource('HTTP://host/cam', 'video'), { kind: 'http', url: 'http://host/cam' })
  assert.deepEqual(mediaSource('rtsp://host:8554/a?b=c', 'video'), { kind: 'rtsp', url: 'rtsp://host:8554/a?b=c' })
  assert.deepEqual(mediaSource('/dev/video0', 'video'), { kind: 'device', device: '/dev/video0' })
  assert.deepEqual(mediaSource('hw:1,0', 'audio'), { kind: 'device', device: 'hw:1,0' })
})

test('no name becomes a path, no protocol of ffmpeg is let in, and no address holds a password', () => {
  const refused = (text: string, medium: 'video' | 'audio' = 'video'): string => {
    const source = mediaSource(text, medium)
    assert.equal(typeof source, 'string', text)
    return source as string
  }
  for (const text of [
    ...['concat:/a|/b', 'pipe:0', 'pipe:/0', 'subfile,,start,0,end,9,,:/etc/passwd', 'file:/etc/passwd', 'data:x/y,z'],
    ...[
      'tcp://127.0.0.1:1',
      'udp://@:1/',
      'crypto:/x',
      'CONCAT:/a',
      'bottles.mp4',
      'tests',
      '',
      '/dev/mem',
      '/proc/1/mem',
    ],
    ...['/dev/video0/../mem', 'a/\0b', 'http:/host', 'http://'],
  ])
    refused(text)
  for (const text of ['file:/tmp/x,raw', 'tee:default,/tmp/x', 'hw:0;x', '/dev/video0', 'hw:../x'])
    refused(text, 'audio')
  assert.match(refused('rtsp://user:secret@host/cam'), /"user" and "password"/)
  assert.doesNotMatch(refused('rtsp://user:secret@host/cam'), /secret/)
})

test('credentials stand in the address that ffmpeg gets, and in no message', () => {
  const source = mediaSource('rtsp://host/cam?token=abc', 'video') as MediaSource
  const input = new MediaInput(source, { user: 'guard', password: "p@s/s' word" }, true, place)
  const url = input.words('', []).at(-1)!
  assert.equal(url, 'rtsp://guard:p%40s%2Fs%27%20word@host/cam?token=abc')
  assert.equal(input.shown, 'rtsp://host/cam')
  const text = `${url}: 401, //guard:x@host, p@s/s' word, p%40s%2Fs%27%20word`
  const masked = input.masked(text)
  for (const secret of ['guard', 'p%40s', "p@s/s' word", 'abc']) assert.ok(!masked.includes(secret), masked)
  assert.match(masked, /^rtsp:\/\/host\/cam: 401/)
})

test('a relative path begins at the folder, and each source allows the protocols that it needs', () => {
  const words = (text: string): string[] =>
    new MediaInput(mediaSource(text, 'video') as MediaSource, {}, true, place).words('x', ['-f', 'v4l2'])
  assert.equal(words('videos/a.mp4').at(-1), 'file:/home/me/videos/a.mp4')
  for (const text of ['./a.mp4', 'test']) assert.equal(words(text)[1], 'file', text)
  assert.equal(words('http://host/')[1], 'http,https,tcp,tls')
  assert.deepEqual(words('/dev/video1'), ['-f', 'v4l2', '-i', '/dev/video1'])
})

test('an address that connectors may not reach is not asked, whatever its spelling', async () => {
  const fault = (url: string): Promise<string | null> =>
    new MediaInput(mediaSource(url, 'video') as MediaSource, {}, true, place).fault()
  for (const url of [
    'http://169.254.169.254/',
    'rtsp://169.254.169.254/',
    'http://[::ffff:169.254.169.254]/',
    'rtsp://0xa9fea9fe/',
  ])
    assert.match((await fault(url))!, /may not reach/, url)
  for (const url of ['http://127.0.0.1/', 'rtsp://[::1]/']) assert.equal(await fault(url), null, url)
})
