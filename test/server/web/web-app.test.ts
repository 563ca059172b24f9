import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ServiceError } from '../../../protocol/errors.ts'
import type { RouteRequest } from '../../../server/http/route.ts'
import { webRoutes } from '../../../server/web/routes.ts'
import { WebApp } from '../../../server/web/web-app.ts'
import { directoryFor } from '../../kit/spawned.ts'

function built(t: TestContext): string {
  const folder = directoryFor(t)
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), '<p>the app</p>')
  writeFileSync(join(folder, 'index.html.gz'), gzipSync('<p>the app</p>'))
  writeFileSync(join(folder, 'assets/main-1a2b.js'), 'main()')
  return folder
}

const asking = (app: WebApp) => async (path: string, accepted?: string) => {
  const route = webRoutes(app).find(one => one.path === '/app/{path*}')!
  const headers = accepted === undefined ? {} : { 'accept-encoding': accepted }
  const { content, headers: told } = await route.handle({ params: { path }, headers } as unknown as RouteRequest<
    never,
    never,
    never,
    never
  >)
  return { type: content!.type, bytes: content!.bytes, page: content!.page, ...told } as Record<string, unknown>
}

test('an address within the app gets its page, asked for anew each time; a file with a digest in its name stays', async t => {
  const ask = asking(new WebApp(built(t)))
  for (const path of ['', 'flows', 'flows/boiler/history', '../../etc/passwd', 'index.html'])
    assert.partialDeepStrictEqual(await ask(path), {
      type: 'text/html; charset=utf-8',
      bytes: Buffer.from('<p>the app</p>'),
      page: 'app',
      'cache-control': 'no-cache',
    })
  assert.partialDeepStrictEqual(await ask('assets/main-1a2b.js', 'gzip, br'), {
    type: 'text/javascript; charset=utf-8',
    bytes: Buffer.from('main()'),
    'cache-control': 'public, max-age=31536000, immutable',
  })
})

test('what was built compressed goes out so to who takes it', async t => {
  const ask = asking(new WebApp(built(t)))
  assert.equal((await ask('', 'gzip, deflate, br'))['content-encoding'], 'gzip')
  assert.equal((await ask('', 'GZIP;q=0.5'))['content-encoding'], 'gzip')
  for (const accepted of ['', 'br', 'gzip;q=0', 'gzip; q=0.0', 'identity'])
    assert.equal((await ask('', accepted))['content-encoding'], undefined, accepted)
})

test('a script of another build, and an app that was not built, are not there', async t => {
  const isMissing = (error: unknown): boolean => error instanceof ServiceError && error.code === 'not_found'
  await assert.rejects(asking(new WebApp(built(t)))('assets/main-0000.js'), isMissing)
  await assert.rejects(asking(new WebApp(join(directoryFor(t), 'none')))(''), isMissing)
})
