/**
 * BullMQ on a Redis of its own that syncs every write (`appendfsync always`), in a process apart. It answers
 *   load({folder}) -> {version}             starts redis-server on a fresh directory, the workers and the producer
 *   pass({runs, connections}) -> {seconds}  adds flows of 3 jobs, so many callers at a time, and waits until all have ended
 * Four jobs run at once, in this process, as bodies of nothing.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { answer } from '../../partner.ts'

interface Flow {
  name: string
  queueName: string
  data: object
  children?: Flow[]
}
interface BullMq {
  FlowProducer: new (options: object) => { add(flow: Flow): Promise<unknown>; waitUntilReady(): Promise<unknown> }
  Worker: new (
    queue: string,
    process: (job: { name: string; data: unknown }) => Promise<unknown>,
    options: object,
  ) => { on(event: string, listener: (job: { name: string }) => void): void; waitUntilReady(): Promise<unknown> }
}

const QUEUE = 'bench'
const AT_ONCE = 4
const rival: { producer: InstanceType<BullMq['FlowProducer']> | null; redis: ChildProcess | null; ended: () => void } =
  {
    producer: null,
    redis: null,
    ended: () => {},
  }

answer({
  async load({ folder }: { folder: string }) {
    const { FlowProducer, Worker } = createRequire(join(folder, 'package.json'))('bullmq') as BullMq
    const port = await freePort()
    await startRedis(port)
    const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null }
    const worker = new Worker(QUEUE, async job => ({ x: job.name }), { connection, concurrency: AT_ONCE })
    worker.on('completed', job => {
      if (job.name === 'last') rival.ended()
    })
    await worker.waitUntilReady()
    rival.producer = new FlowProducer({ connection })
    await rival.producer.waitUntilReady()
    return {}
  },

  async pass({ runs, connections }: { runs: number; connections: number }) {
    let left = runs
    const all = Promise.withResolvers<void>()
    rival.ended = () => {
      if (--left === 0) all.resolve()
    }
    let next = 0
    const began_ms = performance.now()
    await Promise.all(
      Array.from({ length: connections }, async () => {
        while (next < runs) await rival.producer!.add(flowOf(next++))
      }),
    )
    await all.promise
    return { seconds: (performance.now() - began_ms) / 1000 }
  },
})

const flowOf = (x: number): Flow => ({
  name: 'last',
  queueName: QUEUE,
  data: { x },
  children: [
    {
      name: 'second',
      queueName: QUEUE,
      data: { x },
      children: [{ name: 'first', queueName: QUEUE, data: { x } }],
    },
  ],
})

async function startRedis(port: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rival-redis-'))
  const words = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '']
  const redis = spawn('redis-server', [...words, '--appendonly', 'yes', '--appendfsync', 'always'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  rival.redis = redis
  process.on('exit', () => {
    redis.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  let said = ''
  for await (const text of redis.stdout) {
    said += String(text)
    if (said.includes('Ready to accept connections')) break
  }
  redis.stdout.resume()
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}
