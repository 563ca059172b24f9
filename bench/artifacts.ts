/**
 * What it costs to store bytes by their digest, and to serve parts of them.
 *
 * put    floor: `sha256sum` of the file, then `cp` of it on the same disk, one after the other, unsynced; ours: PUT of the same file over
 *        loopback from this process, digested, written and synced. Three threads share the cores: this one, the front and the
 *        artifact thread. The memory is the engine's, at its highest over all runs, above what it held before the first one.
 * range  50 connections in a process of their own ask one server after the other for ranges of 1 MiB of the same file, each for the
 *        next one when it has the last. Server and load have a core each.
 */
import { spawn, spawnSync } from 'node:child_process'
import {
  createReadStream,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EngineFile } from '../protocol/installation.ts'
import type { ArtifactReference } from '../protocol/values/dtype.ts'
import { type Bench, compare, MissingPart, type Row, RUNS, row } from './kit.ts'
import { Partner } from './partner.ts'
import type { RangeLoad } from './partners/loads/range-load.ts'
import { ServedProcess } from './served-process.ts'

const SVC = join(import.meta.dirname, '..', 'svc')
const MIB = 1024 * 1024
const FILE_BYTES = 1024 * MIB
const RANGE_BYTES = 1 * MIB
const CLIENTS = 50
const RANGE_SECONDS = 3
const SAMPLE_MS = 10
const SETTLE_MS = 3_000
const NGINX = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/bin/nginx']

const bench: Bench = {
  name: 'artifacts',
  shows: 'bytes a second stored by their digest, memory meanwhile, and ranges of 1 MiB served to 50 clients',
  floor: 'sha256sum, then cp, of the same file on the same disk',
  rival: "Debian's nginx with sendfile, one worker, the same file",
  async run(): Promise<Row[]> {
    const nginx = NGINX.find(existsSync)
    if (nginx === undefined) throw new MissingPart('nginx: install the package nginx-light')
    const folder = mkdtempSync(join(tmpdir(), 'bench-artifacts-'))
    const file = join(folder, 'file')
    makeFile(file)
    const served = new ServedProcess(SVC, ['serve', '--plain', '--port', '0', '--data-dir', join(folder, 'data')], {
      cwd: folder,
    })
    const ours = await engineOf(served, join(folder, 'data'))
    const rival = await startNginx(nginx, folder)
    try {
      // Its threads have loaded by then.
      await sleep(SETTLE_MS)
      const memory = new Memory(ours.pid)
      const put = await compare({
        unit: 'MiB/s',
        runs: RUNS,
        floor: async () => ({ 'put 1 GiB': floorRate(file) }),
        ours: () => memory.watched(async () => ({ 'put 1 GiB': await putRate(ours, file) })),
      })
      const digest = await digestOf(ours)
      const load = await Partner.start(join(import.meta.dirname, 'partners', 'loads/range-load.ts'))
      const range = async (server: Pick<RangeLoad, 'port' | 'path' | 'token'>) => {
        const asked: RangeLoad = {
          ...server,
          clients: CLIENTS,
          seconds: RANGE_SECONDS,
          size: FILE_BYTES,
          bytes: RANGE_BYTES,
        }
        return { 'range of 1 MiB': (await load.ask<{ per_s: number }>('pass', asked)).per_s }
      }
      const ranges = await compare({
        unit: 'ranges/s',
        runs: RUNS,
        ours: () => range({ port: Number(new URL(ours.url).port), path: `/artifacts/${digest}`, token: ours.token }),
        rival: () => range({ port: rival.port, path: '/file', token: '' }),
      })
      return [
        ...put,
        row('put 1 GiB, memory', 'MiB', RUNS, { floor: null, ours: memory.growth_mib, rival: null }),
        ...ranges,
      ]
    } finally {
      rival.stop()
      await served.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}
export default bench

/** Bytes that no file system compresses and no two chunks share. */
function makeFile(path: string): void {
  const file = openSync(path, 'w')
  const chunk = Buffer.alloc(MIB)
  let state = 0x2545f491
  for (let at = 0; at < FILE_BYTES; at += MIB) {
    for (let word = 0; word < MIB; word += 4) {
      state ^= state << 13
      state ^= state >>> 17
      state ^= state << 5
      chunk.writeInt32LE(state, word)
    }
    writeSync(file, chunk)
  }
}

interface Served {
  readonly url: string
  readonly token: string
  /** Of the engine process; its supervisor is another. */
  readonly pid: number
}

async function engineOf(served: ServedProcess, data_dir: string): Promise<Served> {
  const { url } = await served.firstAnswer('/utils/health/')
  const { pid } = JSON.parse(readFileSync(join(data_dir, 'engine.json'), 'utf8')) as EngineFile
  return { url, token: readFileSync(join(data_dir, 'token'), 'utf8'), pid }
}

const rate = (began_ms: number): number => FILE_BYTES / MIB / ((performance.now() - began_ms) / 1000)

function floorRate(file: string): number {
  const copy = `${file}.copy`
  const began_ms = performance.now()
  for (const [command, ...words] of [
    ['sha256sum', file],
    ['cp', file, copy],
  ] as const) {
    if (spawnSync(command, words).status !== 0) throw new MissingPart(command)
  }
  const found = rate(began_ms)
  rmSync(copy)
  return found
}

async function putRate({ url, token }: Served, file: string): Promise<number> {
  const began_ms = performance.now()
  const headers = {
    authorization: `Bearer ${token}`,
    'content-length': FILE_BYTES,
    'content-type': 'application/octet-stream',
  }
  const sending = request(`${url}/artifacts`, { method: 'PUT', headers, agent: false })
  const answered = new Promise<IncomingMessage>((resolve, reject) =>
    sending.on('response', resolve).on('error', reject),
  )
  await pipeline(createReadStream(file, { highWaterMark: MIB / 4 }), sending)
  const answer = await answered
  const said = await text(answer)
  if (answer.statusCode !== 200 && answer.statusCode !== 201) throw new RangeError(said)
  return rate(began_ms)
}

async function digestOf({ url, token }: Served): Promise<string> {
  const answer = await fetch(`${url}/artifacts`, { headers: { authorization: `Bearer ${token}` } })
  return ((await answer.json()) as { items: ArtifactReference[] }).items[0]!.digest
}

/** What a process holds above what it held when this was made, at its highest. */
class Memory {
  readonly #pid: number
  readonly #before: number
  #highest = 0

  constructor(pid: number) {
    this.#pid = pid
    this.#before = this.#resident()
  }

  async watched<Result>(work: () => Promise<Result>): Promise<Result> {
    const sampling = setInterval(() => (this.#highest = Math.max(this.#highest, this.#resident())), SAMPLE_MS)
    try {
      return await work()
    } finally {
      clearInterval(sampling)
    }
  }

  get growth_mib(): number {
    return (this.#highest - this.#before) / MIB
  }

  #resident(): number {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${this.#pid}/status`, 'utf8'))?.[1]) * 1024
  }
}

async function startNginx(command: string, folder: string): Promise<{ port: number; stop(): void }> {
  const port = await freePort()
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    name => `${name}_temp_path ${folder}/${name};`,
  )
  writeFileSync(
    join(folder, 'nginx.conf'),
    `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log stderr crit;
events { worker_connections 512; }
http {
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; ${places.join(' ')}
  server { listen 127.0.0.1:${port}; location / { root ${folder}; } }
}
`,
  )
  const child = spawn(command, ['-p', folder, '-c', join(folder, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', part => (said += part))
  for (;;) {
    if (child.exitCode !== null) throw new MissingPart(`nginx does not start: ${said.trim()}`)
    const answer = await fetch(`http://127.0.0.1:${port}/file`, { method: 'HEAD' }).catch(() => null)
    if (answer?.status === 200) return { port, stop: () => void child.kill('SIGTERM') }
    await sleep(20)
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
