import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { RawClient } from '../kit/raw-client.ts'
import { RealEngine } from '../kit/real-engine.ts'
import { Endings, eventually } from '../kit/spawned.ts'
import { digestOfBytes, StoredFiles } from '../kit/stored-artifacts.ts'

test('an engine that is killed during uploads keeps what it has acknowledged, and its next start forgets the rest', async t => {
  const life = new Endings()
  t.after(() => life.end())
  const engine = await RealEngine.start(life)
  const files = new StoredFiles(engine.data_dir)
  const put = (bytes: Buffer): Promise<Response> =>
    fetch(`${engine.url}/artifacts`, {
      method: 'PUT',
      body: bytes,
      headers: { authorization: `Bearer ${engine.token}` },
    })
  const acknowledged = randomBytes(100_000)
  assert.equal((await put(acknowledged)).status, 201)

  const bytes = randomBytes(3_000_000)
  const head = `PUT /artifacts HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${engine.token}\r\nContent-Length: ${bytes.length}\r\n\r\n`
  const clients = [await RawClient.open(engine.port), await RawClient.open(engine.port)]
  for (const client of clients) client.write(head).write(bytes.subarray(0, 1_500_000))
  await eventually('both lie there in part', () => files.leftOver().length === 2)
  const { pid } = engine
  process.kill(pid, 'SIGKILL')
  for (const client of clients) await client.closed()
  await engine.restartedAfter(pid)

  assert.deepEqual(files.leftOver(), [])
  assert.deepEqual(files.all().length, 1)
  assert.equal(files.has(digestOfBytes(acknowledged)), true)
  assert.equal((await put(bytes)).status, 201)
  assert.equal((await put(acknowledged)).status, 200)
})
