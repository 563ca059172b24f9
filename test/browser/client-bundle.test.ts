import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { launched, skip as withoutBrowser } from '../kit/chromium.ts'
import { dependentProject } from '../kit/dependent-project.ts'
import { sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, output } from '../kit/live-story.ts'
import { directoryFor } from '../kit/spawned.ts'

/** Null after an `npm ci` under a Node that is too old for the binary of vite: npm then leaves the binary out. */
const vite = await import('vite').catch(() => null)
const skip =
  withoutBrowser ||
  (vite === null && 'needs vite, whose binary npm leaves out below Node 20.19: run npm ci with Node 22')

const live = sharedEngine({ FLOW_LANES: '1', FLOW_MAX_WORKERS: '1' })

/** The globals of the page, as far as the test uses them. */
interface InPage {
  location: { origin: string }
  client: typeof import('../../clients/client/index.ts')
}

const DOUBLE = flow(
  [
    code(
      'twice',
      `export default async ({ number }, ctx) => {
        ctx.log('twice ' + number)
        return { twice: 2 * number }
      }`,
      [input('number', 'float')],
      [output('twice', 'float')],
    ),
  ],
  { message: 'number', dtype: 'float' },
)

const tokenOf = (): string => readFileSync(join(live.data_dir, 'token'), 'utf8').trim()

/** A page of the engine's own address that runs a bundle of a program that imports the client. */
async function pageWithClient(t: { after(end: () => Promise<void>): void; name: string }): Promise<Page> {
  const directory = dependentProject(directoryFor(t as never))
  writeFileSync(
    join(directory, 'main.js'),
    "import * as client from 'flow-engine/client'\nglobalThis.client = client\n",
  )
  const built = await vite!.build({
    root: directory,
    logLevel: 'error',
    configFile: false,
    build: {
      write: false,
      lib: { entry: 'main.js', formats: ['es'] },
      rolldownOptions: { output: { codeSplitting: false } },
    },
  })
  const { output: files } = ([built].flat() as { output: { type: string; code?: string }[] }[])[0]!
  assert.deepEqual(
    files.map(({ type }) => type),
    ['chunk'],
  )
  // A page that the engine served: what a test makes up counts as a page of the internet, which may not reach this machine.
  const page = await (await launched()).newPage({ bypassCSP: true })
  t.after(() => page.close())
  const problems: string[] = []
  page.on('pageerror', error => problems.push(error.message))
  await page.goto(`${live.url}/docs`)
  await page.addScriptTag({ type: 'module', content: files[0]!.code! })
  await page.waitForFunction(() => 'client' in globalThis)
  assert.deepEqual(problems, [])
  return page
}

test('a page runs a flow, follows it, and stores and reads bytes with the bundled client', { skip }, async t => {
  await live.engine.flows.save('double', { document: DOUBLE }, 'tests')
  const page = await pageWithClient(t)
  const seen = await page.evaluate(async token => {
    const { client, location } = globalThis as unknown as InPage
    const engine = client.connect({ url: location.origin, token })
    const { run } = await engine.runs.create('double', { inputs: { number: 21 } })
    const lines: string[] = []
    for await (const { text } of engine.runs.followLog(run.id)) lines.push(text)
    const { status, result } = await engine.runs.wait(run.id)
    const exported = await engine.runs.export({ flow: 'double' }, {})
    let csv = ''
    const decoder = new TextDecoder()
    for await (const part of exported.stream) csv += decoder.decode(part, { stream: true })
    const bytes = new Uint8Array(3_000_000).map((_, at) => at % 251)
    const { digest } = await engine.artifacts.put(
      async function* () {
        yield bytes.subarray(0, 1_000_000)
        yield bytes.subarray(1_000_000)
      },
      { media_type: 'application/x-bytes', meta: { is: 'a test' } },
    )
    const { stream, length, media_type } = await engine.artifacts.get(digest)
    let isSame = true
    let at = 0
    for await (const part of stream) for (const byte of part) if (byte !== bytes[at++]) isSame = false
    return { status, result, lines, rows: csv.trim().split('\n').length, length, media_type, isSame, at }
  }, tokenOf())
  assert.deepEqual(seen, {
    ...{ status: 'succeeded', result: { twice: 42 }, lines: ['twice 21'], rows: 2 },
    ...{ length: 3_000_000, media_type: 'application/octet-stream', isSame: true, at: 3_000_000 },
  })
})

test('a page gets the bytes behind values as they are published', { skip }, async t => {
  await live.engine.flows.save('camera', { document: flow([], { message: 'picture', dtype: 'image' }) }, 'tests')
  const page = await pageWithClient(t)
  const seen = await page.evaluate(async token => {
    const { client, location } = globalThis as unknown as InPage
    const engine = client.connect({ url: location.origin, token })
    const bytes = new Uint8Array(50_000).map((_, at) => at % 251)
    const reference = await engine.artifacts.put(bytes, { media_type: 'image/png', meta: { number: 7 } })
    await engine.messages.publish('camera.picture', reference)
    for await (const frame of engine.media(['camera.picture'])) {
      const isSame = frame.bytes.length === bytes.length && frame.bytes.every((byte, at) => byte === bytes[at])
      return { name: frame.name, version: frame.version, meta: frame.meta, isSame }
    }
    return null
  }, tokenOf())
  assert.deepEqual(seen, { name: 'camera.picture', version: 1, meta: { number: 7 }, isSame: true })
})

test('a page follows messages over the websocket, and is told why it may not', { skip }, async t => {
  await live.engine.flows.save('double', { document: DOUBLE }, 'tests')
  const page = await pageWithClient(t)
  const seen = await page.evaluate(async token => {
    const { client, location } = globalThis as unknown as InPage
    const url = location.origin
    const engine = client.connect({ url, token })
    const { promise: came, resolve, reject } = Promise.withResolvers<unknown>()
    const socket = await client.followLive({
      find: () => ({ url, token }),
      names: ['double.twice'],
      onFollowing: () => void engine.messages.publish('double.number', 4),
      onValue: frame => resolve(frame.value),
      onFailure: reject,
    })
    const value = await came
    socket.close()
    const refused = Promise.withResolvers<unknown>()
    await client.followLive({ find: () => ({ url, token: 'none' }), onFailure: refused.resolve })
    const told = async (failing: Promise<unknown>): Promise<string> =>
      failing.then(
        () => 'nothing',
        ({ kind, code, status }) => `${kind} ${status} ${code}`,
      )
    const { kind, status } = (await refused.promise) as { kind: string; status: number }
    return {
      value,
      socket: `${kind} ${status}`,
      unknown: await told(engine.flows.get('no_such_flow')),
      parquet: await told(engine.runs.export({}, { format: 'parquet' })),
    }
  }, tokenOf())
  assert.deepEqual(seen, {
    value: 8,
    socket: 'refused 401',
    unknown: 'refused 404 flow_not_found',
    parquet: 'lacking null null',
  })
})

test('an address where no engine answers is an error on a page, and a signal ends what a page waits for', {
  skip,
}, async t => {
  const page = await pageWithClient(t)
  const seen = await page.evaluate(async token => {
    const { client, location } = globalThis as unknown as InPage
    const stopping = new AbortController()
    const engine = client.connect({ url: location.origin, token })
    const waiting = engine.runs.get('00000000-0000-7000-8000-000000000000', { signal: stopping.signal })
    stopping.abort(new Error('enough'))
    const failure = (failing: Promise<unknown>): Promise<Error & { kind?: string }> =>
      failing.then(
        () => new Error('nothing'),
        error => error,
      )
    const gone = client.connect({ url: 'http://127.0.0.1:9', token })
    return { aborted: (await failure(waiting)).message, gone: (await failure(gone.flows.list())).kind }
  }, tokenOf())
  assert.deepEqual(seen, { aborted: 'enough', gone: 'lost' })
})
