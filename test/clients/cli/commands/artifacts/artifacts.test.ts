import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { ArtifactReference } from '../../../../../protocol/values/dtype.ts'
import { ApiDouble } from '../../../../kit/api-double.ts'
import { RealEngine } from '../../../../kit/real-engine.ts'
import { directoryFor, Endings, Spawned } from '../../../../kit/spawned.ts'
import { digestOfBytes, StoredFiles } from '../../../../kit/stored-artifacts.ts'

const life = new Endings()
let engine: RealEngine
before(async () => {
  engine = await RealEngine.start(life)
})
after(() => life.end())

async function svc(
  t: TestContext,
  argv: string[],
  { stdin = '' as string | Buffer, url = '', token = engine.token, cwd = directoryFor(t) } = {},
) {
  const environment = { SVC_URL: url === '' ? engine.url : url, SVC_TOKEN: token }
  const spawned = Spawned.svc(t, { argv: ['artifacts', ...argv], cwd, environment })
  spawned.child.stdin!.on('error', () => {})
  spawned.child.stdin!.end(stdin)
  const { code } = await spawned.ended
  return { code, stdout: spawned.stdout, stderr: spawned.stderr, cwd }
}

describe('svc artifacts', () => {
  test('put stores a file under what its ending says, and get brings it back', async t => {
    const cwd = directoryFor(t)
    const bytes = randomBytes(2_000_003)
    writeFileSync(join(cwd, 'photo.PNG'), bytes)
    const put = await svc(t, ['put', 'photo.PNG', '--json', '--meta', '{"of":"ü"}'], { cwd })
    assert.equal(put.code, 0, put.stderr)
    const expected: ArtifactReference = {
      digest: digestOfBytes(bytes),
      media_type: 'image/png',
      size: bytes.length,
      meta: { of: 'ü' },
    }
    assert.deepEqual(JSON.parse(put.stdout), expected)
    const get = await svc(t, ['get', expected.digest, 'back'], { cwd })
    assert.deepEqual([get.code, get.stdout, get.stderr], [0, '', ''])
    assert.deepEqual(readFileSync(join(cwd, 'back')), bytes)
    assert.deepEqual(readdirSync(cwd).sort(), ['back', 'photo.PNG'])
  })

  test('put and get stand in a pipe', async t => {
    const put = await svc(t, ['put', '-', '--media-type', 'text/plain'], { stdin: 'from a pipe' })
    assert.deepEqual([put.code, put.stdout], [0, `${digestOfBytes('from a pipe')}\n`])
    const get = await svc(t, ['get', digestOfBytes('from a pipe'), '-'])
    assert.deepEqual([get.code, get.stdout], [0, 'from a pipe'])
  })

  test('list, verify and sweep tell what is in the store', async t => {
    await svc(t, ['put', '-'], { stdin: 'listed' })
    const { stdout } = await svc(t, ['list'])
    assert.match(stdout, new RegExp(`^digest +size +stored\\n${digestOfBytes('listed')} +6 B +20`))
    const list = JSON.parse((await svc(t, ['list', '--json', '--limit', '1'])).stdout)
    assert.deepEqual([list.items.length, list.items[0].digest], [1, digestOfBytes('listed')])
    const whole = await svc(t, ['verify'])
    assert.deepEqual([whole.code, whole.stdout], [0, ''])
    assert.match(whole.stderr, new RegExp(`${list.count} artifacts.*no damage`))
    const swept = JSON.parse((await svc(t, ['sweep', '--json'])).stdout)
    assert.deepEqual([swept.seen, swept.spared, swept.removed], [list.count, list.count, 0])
    assert.match((await svc(t, ['sweep'])).stderr, /removed 0 artifacts[\s\S]*stored in the last hour/)
  })

  test('list and sweep say that artifacts are over their budget, and what to do', async t => {
    const small = await RealEngine.start(t, { environment: { ARTIFACTS_KEEP_MB: '1' } })
    const run = (argv: string[], stdin: Buffer) => svc(t, argv, { url: small.url, stdin, token: small.token })
    assert.equal((await run(['put', '-'], randomBytes(1024 ** 2 + 500_000))).code, 0)
    assert.match((await run(['sweep'], Buffer.of())).stderr, /488 KiB over ARTIFACTS_KEEP_MB/)
    assert.match((await run(['list'], Buffer.of())).stderr, /488 KiB over ARTIFACTS_KEEP_MB.*svc runs delete/)
  })

  test('verify names what is damaged and fails, and get keeps nothing of it', async t => {
    await svc(t, ['put', '-'], { stdin: 'to be damaged' })
    const digest = digestOfBytes('to be damaged')
    const files = new StoredFiles(engine.data_dir)
    chmodSync(files.path(digest), 0o600)
    truncateSync(files.path(digest), 2)
    const verify = await svc(t, ['verify'])
    assert.equal(verify.code, 1)
    assert.match(verify.stdout, new RegExp(`${digest} +2 B +${digestOfBytes('to')}`))
    const { damaged } = JSON.parse((await svc(t, ['verify', '--json'])).stdout)
    assert.deepEqual(damaged, [{ digest, size: 2, found: digestOfBytes('to') }])
    const get = await svc(t, ['get', digest, 'back'])
    assert.equal(get.code, 1)
    assert.match(get.stderr, /have the digest/)
    assert.deepEqual(readdirSync(get.cwd), [])
    // Stored again, it is whole.
    await svc(t, ['put', '-'], { stdin: 'to be damaged' })
    assert.equal((await svc(t, ['verify'])).code, 0)
  })

  test('say what is wrong with what they were given', async t => {
    const cwd = directoryFor(t)
    writeFileSync(join(cwd, 'file'), 'x')
    const cases: [string[], number, RegExp][] = [
      [['get', 'sha256:abc'], 2, /is not a valid digest/],
      [['get', `sha256:${'0'.repeat(64)}`], 3, /Nothing is stored under/],
      [['get', digestOfBytes('from a pipe'), 'no/such/folder'], 2, /cannot be written/],
      [['put', 'missing'], 2, /missing cannot be read/],
      [['put', '.'], 2, /is a directory/],
      [['put', 'file', '--meta', '[]'], 2, /--meta .* expected a JSON object/],
      [['put', 'file', '--media-type', 'png'], 3, /is not a media type/],
    ]
    await Promise.all(
      cases.map(async ([argv, code, text]) => {
        const { code: ended, stdout, stderr } = await svc(t, argv, { cwd })
        assert.deepEqual([ended, stdout], [code, ''], argv.join(' '))
        assert.match(stderr, text)
      }),
    )
    assert.deepEqual(readdirSync(cwd), ['file'])
  })

  test('a fetch that breaks off is no file, and an upload from a pipe that breaks off is not tried again', async t => {
    const digest = digestOfBytes('abcdef')
    let uploads = 0
    const api = await ApiDouble.start(t, {
      [`GET /artifacts/${digest}`]: {
        act: (_request, response) => {
          response.writeHead(200, { 'content-length': '6' })
          response.write('abc')
          setTimeout(() => response.destroy(), 50)
        },
      },
      'PUT /artifacts': {
        act: (_request, response) => {
          uploads++
          response.destroy()
        },
      },
    })
    const get = await svc(t, ['get', digest, 'back'], { url: api.url })
    assert.equal(get.code, 1)
    assert.match(get.stderr, /the file is incomplete/)
    assert.equal(existsSync(join(get.cwd, 'back')), false)
    const put = await svc(t, ['put', '-'], { url: api.url, stdin: 'x' })
    assert.equal(put.code, 1)
    assert.match(put.stderr, /cannot be read again/)
    assert.equal(uploads, 1)
  })
})
