import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { ServiceError } from '../../../protocol/errors.ts'
import { formatTime } from '../../../protocol/time.ts'
import type { EngineArtifacts } from '../../../server/artifacts/artifacts.ts'
import { artifactsOf, directoryOfProcess } from '../../kit/artifacts.ts'
import { ROOT } from '../../kit/sources.ts'
import { digestOfBytes, pieces, StoredFiles } from '../../kit/stored-artifacts.ts'

const opened: EngineArtifacts[] = []
after(async () => {
  for (const artifacts of opened) await artifacts.close()
})

function open(max_bytes = 0, data_dir = directoryOfProcess()) {
  const artifacts = artifactsOf({ data_dir, max_bytes })
  opened.push(artifacts)
  return { artifacts, files: new StoredFiles(data_dir), data_dir }
}

const put = (artifacts: EngineArtifacts, bytes: Buffer, size?: number) =>
  artifacts.put(pieces(bytes, size), bytes.length)
const refusal = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code

describe('stored bytes', () => {
  test('lie under their digest, readable by their owner and writable by nobody, and are found', async () => {
    const { artifacts, files } = open()
    for (const bytes of [Buffer.alloc(0), Buffer.from('a'), randomBytes(3_000_001)]) {
      const stored = await put(artifacts, bytes, 100_000)
      assert.deepEqual(stored, { digest: digestOfBytes(bytes), size: bytes.length, is_new: true })
      assert.equal(artifacts.has(stored.digest), true)
      const { mode, size } = statSync(files.path(stored.digest))
      assert.deepEqual([mode & 0o777, size], [0o400, bytes.length])
    }
    assert.deepEqual(files.leftOver(), [])
  })

  test('are one file however often they are stored, one after the other or at once', async () => {
    const { artifacts, files } = open()
    const bytes = randomBytes(500_000)
    const stored = await Promise.all(Array.from({ length: 8 }, (_, n) => put(artifacts, bytes, 1000 + n * 7919)))
    const again = await put(artifacts, bytes)
    for (const { digest } of [...stored, again]) assert.equal(digest, digestOfBytes(bytes))
    assert.equal(again.is_new, false)
    assert.equal(files.all().length, 1)
    assert.equal((await artifacts.list({ limit: 10, offset: 0 })).count, 1)
  })

  test('are listed newest first, in pages', async () => {
    const { artifacts, files } = open()
    const digests: string[] = []
    for (let n = 0; n < 5; n++) {
      const { digest } = await put(artifacts, Buffer.from(`number ${n}`))
      files.age(digest, 1000 - n * 100)
      digests.unshift(digest)
    }
    const page = async (limit: number, offset: number) =>
      (await artifacts.list({ limit, offset })).items.map(item => item.digest)
    assert.deepEqual(await page(10, 0), digests)
    assert.deepEqual([...(await page(2, 0)), ...(await page(2, 2)), ...(await page(2, 4))], digests)
    const [newest] = (await artifacts.list({ limit: 1, offset: 0 })).items
    assert.equal(newest!.size, 'number 4'.length)
    assert.equal(newest!.written_at, formatTime(Math.floor(files.writtenAt(newest!.digest) * 1000)))
  })

  test('are asked for by a digest and nothing else', async () => {
    const { artifacts, data_dir } = open()
    writeFileSync(join(data_dir, 'secret'), 'x')
    const hex = digestOfBytes('x').slice('sha256:'.length)
    for (const name of [
      '',
      '../secret',
      hex,
      `sha256:${hex.toUpperCase()}`,
      `sha256:${hex}/`,
      `sha256:../../${hex.slice(6)}`,
      `md5:${hex}`,
      'sha256:',
    ]) {
      assert.equal(artifacts.has(name), false, name)
    }
  })
})

describe('what is not stored', () => {
  test('is more than the bound, said before or found on the way, and nothing is left of it', async () => {
    const { artifacts, files } = open(10_000)
    await put(artifacts, Buffer.alloc(10_000))
    await assert.rejects(put(artifacts, Buffer.alloc(10_001)), refusal('too_large'))
    await assert.rejects(artifacts.put(pieces(Buffer.alloc(10_001)), null), refusal('too_large'))
    assert.equal(files.all().length, 1)
  })

  test('is what its source breaks off, and nothing is left of it', async () => {
    const { artifacts, files } = open()
    async function* broken() {
      yield randomBytes(100_000)
      throw new ServiceError('upload_incomplete')
    }
    await assert.rejects(artifacts.put(broken(), null), refusal('upload_incomplete'))
    assert.deepEqual(files.all(), [])
  })

  test('is what the disk has no room for: known before its first byte when its length is', async () => {
    const { artifacts, files } = open()
    let asked = 0
    async function* endless() {
      asked++
      yield Buffer.alloc(1)
    }
    await assert.rejects(artifacts.put(endless(), 2 ** 50), refusal('disk_full'))
    assert.equal(asked, 0)
    assert.deepEqual(files.all(), [])
  })

  test('is what the disk takes no more of half-way, and nothing is left of it', () => {
    const { files, data_dir } = open()
    // The system refuses to let a file of this process grow past some 500 KiB.
    const program = `
      import { artifactsOf } from './test/kit/artifacts.ts'
      const artifacts = artifactsOf({ data_dir: ${JSON.stringify(data_dir)} })
      async function* many() { for (let n = 0; n < 20; n++) yield new Uint8Array(100_000) }
      await artifacts.put(many(), null).catch(error => console.log(error.code))
      await artifacts.close()`
    const limited = `trap '' XFSZ; ulimit -f 1000; exec "$0" -e "$1"`
    const { stdout, stderr } = spawnSync('sh', ['-c', limited, process.execPath, program], {
      cwd: ROOT,
      encoding: 'utf8',
    })
    assert.equal(stdout, 'disk_failed\n', stderr)
    assert.deepEqual(files.all(), [])
  })
})

describe('a start', () => {
  test('removes what was being uploaded, and gives back what a sweep had not decided on', async () => {
    const { artifacts, files, data_dir } = open()
    const kept = await put(artifacts, Buffer.from('kept'))
    const twice = await put(artifacts, Buffer.from('twice'))
    for (const { digest } of [kept, twice]) {
      const aside = join(files.folder, 'swept', digest.slice('sha256:'.length))
      renameSync(files.path(digest), aside)
    }
    await put(artifacts, Buffer.from('twice'))
    writeFileSync(join(files.folder, 'tmp', 'half'), 'half of it')
    assert.equal(files.leftOver().length, 3)
    assert.equal(artifacts.has(kept.digest), true)
    open(0, data_dir)
    assert.deepEqual(files.leftOver(), [])
    assert.equal(files.has(kept.digest) && files.has(twice.digest), true)
  })
})

describe('verifying', () => {
  test('reads all, and names what does not digest to its name with what it digests to', async () => {
    const { artifacts, files } = open()
    for (let n = 0; n < 20; n++) await put(artifacts, Buffer.from(`good ${n}`))
    const changed = await put(artifacts, Buffer.from('changed'))
    const cut = await put(artifacts, Buffer.from('cut off'))
    const lines = async () => {
      const all = []
      for await (const line of artifacts.verify()) all.push(line)
      return all
    }
    assert.deepEqual(
      (await lines()).flatMap(line => line.damaged),
      [],
    )
    chmodSync(files.path(changed.digest), 0o600)
    writeFileSync(files.path(changed.digest), 'CHANGED')
    chmodSync(files.path(cut.digest), 0o600)
    truncateSync(files.path(cut.digest), 3)
    // Not ours, and no artifacts.
    writeFileSync(join(files.folder, 'notes'), 'x')
    mkdirSync(join(files.folder, 'zz'))
    const all = await lines()
    const last = all.at(-1)!
    assert.deepEqual([last.done, last.verified], [true, 22])
    const damaged = all.flatMap(line => line.damaged).sort((a, b) => a.size - b.size)
    assert.deepEqual(damaged, [
      { digest: cut.digest, size: 3, found: digestOfBytes('cut') },
      { digest: changed.digest, size: 7, found: digestOfBytes('CHANGED') },
    ])
  })
})
