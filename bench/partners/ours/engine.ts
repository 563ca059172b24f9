/**
 * The engine as `svc serve` starts it, in a process of its own without its supervisor, on a fresh data directory unless it is given one.
 *   start({lanes, data_dir?}) -> {url, token}, close()
 *   save({name, document}), saveMany({flows})
 *   burst({flow, count}) -> {seconds}          publishes `count` to `<flow>.count`, waits until `<flow>.last` has that many values more
 *   spread({flows, publishes}) -> {seconds}    a value to `flow<i>.x` in turn, until every `flow<i>.y` has come
 *   run({flow, inputs, no_cache}) -> {seconds}   a batch run, from its creation to its end as its record has them
 *   publish({name, value}), tick({name, every_ms, seconds})   one value; 1, 2 ... on the beat
 *   publishAll({names, value})                 one value of each, in one list
 *   beat({names, every_ms, rounds})            the same on the beat, the number of the round as the value
 *   turnAbout({name, values, every_ms, seconds})   the values in turn, at most one each `every_ms` and turn of the event loop; `meta.us` is when
 *   answered({ask, value, answer}) -> the next value of `answer`
 *   rss() -> bytes, cpu() -> seconds of the main thread
 *   version({message}) -> {version}, gauges({node}) -> {gauges}
 *   hops({hops, every_ms}) -> {p50_us}         from a publish of `hop.x` to the start of the body that it wakes
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { ServiceError } from '../../../protocol/errors.ts'
import type { FlowDocument } from '../../../protocol/nouns/flow-document.ts'
import { parseTime } from '../../../protocol/time.ts'
import type { ArtifactReference } from '../../../protocol/values/dtype.ts'
import type { Engine } from '../../../server/engine.ts'
import { type Served, serve } from '../../../server/main.ts'
import type { StartEngine } from '../../../server/running-engine.ts'
import { median } from '../../kit.ts'
import { answer } from '../../partner.ts'
import { mainThreadCpu } from '../main-thread-cpu.ts'

const AUTHOR = 'bench'
/** Publishes between two looks at the event loop: the front has sockets to serve in life. */
const PUBLISHES_PER_TURN = 256
const SAVES_AT_ONCE = 200
/** As many as flows publish in one turn of the front, in life. */
const VALUES_TOGETHER = 50
/** A burst that takes longer has lost something. */
const STALLED_MS = 60_000

const started: { engine: Engine | null; served: Served | null } = { engine: null, served: null }
const engine = (): Engine => started.engine!

answer({
  async start({ lanes, data_dir = freshDirectory() }: { lanes: number; data_dir?: string }) {
    const { startEngine } = (await import('../../../server/build.ts')) as { startEngine: StartEngine }
    const served = await serve({
      argv: ['--plain', '--port', '0', '--data-dir', data_dir],
      environment: { ...process.env, FLOW_LANES: String(lanes) },
      cwd: data_dir,
      loadEngine: async () => async options => {
        const running = await startEngine(options)
        started.engine = running.engine
        return running
      },
    })
    started.served = served
    return { url: served.url, token: readFileSync(join(data_dir, 'token'), 'utf8').trim() }
  },

  async close() {
    await started.served!.close()
  },

  async save({ name, document }: { name: string; document: FlowDocument }) {
    await engine().flows.save(name, { document }, AUTHOR)
  },

  /** `flow0` to `flow<n-1>`: one node each, `x` to `y`. */
  async saveMany({ flows }: { flows: number }) {
    for (let first = 0; first < flows; first += SAVES_AT_ONCE) {
      const count = Math.min(SAVES_AT_ONCE, flows - first)
      await Promise.all(
        Array.from({ length: count }, (_, at) =>
          engine().flows.save(`flow${first + at}`, { document: oneNode('({ x }) => ({ y: x + 1 })') }, AUTHOR),
        ),
      )
    }
  },

  publish({ name, value }: { name: string; value: unknown }) {
    engine().messages.publish([{ name, value }])
  },

  /** Publishes 1, 2, and so on, on the beat. */
  async tick({ name, every_ms, seconds }: { name: string; every_ms: number; seconds: number }) {
    const began_ms = performance.now()
    for (let number = 1; number <= (seconds * 1000) / every_ms; number++) {
      engine().messages.publish([{ name, value: number }])
      await sleep(Math.max(0, began_ms + number * every_ms - performance.now()))
    }
  },

  publishAll({ names, value }: { names: string[]; value: unknown }) {
    engine().messages.publish(names.map(name => ({ name, value })))
    return Number(process.hrtime.bigint()) / 1000
  },

  async beat({ names, every_ms, rounds }: { names: string[]; every_ms: number; rounds: number }) {
    const began_ms = performance.now()
    for (let round = 1; round <= rounds; round++) {
      for (let at = 0; at < names.length; at += VALUES_TOGETHER) {
        const some = names.slice(at, at + VALUES_TOGETHER)
        engine().messages.publish(some.map(name => ({ name, value: round })))
        await turn()
      }
      await sleep(Math.max(0, began_ms + round * every_ms - performance.now()))
    }
  },

  async turnAbout(asked: { name: string; values: ArtifactReference[]; every_ms: number; seconds: number }) {
    const { name, values, every_ms, seconds } = asked
    const until_ms = performance.now() + seconds * 1000
    let next_ms = 0
    for (let number = 0; performance.now() < until_ms; await turn()) {
      if (performance.now() < next_ms) continue
      next_ms = performance.now() + every_ms
      const meta = { us: Number(process.hrtime.bigint()) / 1000 }
      engine().messages.publish([{ name, value: { ...values[number++ % values.length]!, meta } }])
    }
  },

  /** Publishes a value and answers the next one of another message. */
  async answered({ ask, value, answer: name }: { ask: string; value: unknown; answer: string }) {
    const { messages } = engine()
    const before = messages.get(name).version
    messages.publish([{ name: ask, value }])
    await until(() => messages.get(name).version > before, name)
    return messages.get(name).value
  },

  rss: () => process.memoryUsage.rss(),
  cpu: () => mainThreadCpu(),

  async burst({ flow, count }: { flow: string; count: number }) {
    const last = `${flow}.last`
    const wanted = engine().messages.get(last).version + count
    const began_ms = performance.now()
    engine().messages.publish([{ name: `${flow}.count`, value: count }])
    await until(() => engine().messages.get(last).version >= wanted, `${wanted} values of ${last}`)
    return { seconds: (performance.now() - began_ms) / 1000 }
  },

  async spread({ flows, publishes }: { flows: number; publishes: number }) {
    const { messages } = engine()
    const names = Array.from({ length: flows }, (_, flow) => [`flow${flow}.x`, `flow${flow}.y`] as const)
    const wanted = names.map(
      ([, y], flow) => messages.get(y).version + Math.floor((publishes + flows - 1 - flow) / flows),
    )
    const isThere = (flow: number): boolean => messages.get(names[flow]![1]).version >= wanted[flow]!
    const final = (publishes - 1) % flows
    const began_ms = performance.now()
    for (let done = 0; done < publishes; ) {
      if (publishOrWait(names[done % flows]![0], done)) done++
      else await sleep(1)
      if (done % PUBLISHES_PER_TURN === 0) await turn()
    }
    let ended_ms = performance.now()
    for (let missing = final; missing >= 0; missing = wanted.findIndex((_, flow) => !isThere(flow))) {
      await until(() => isThere(missing), `${wanted[missing]} values of ${names[missing]![1]}`)
      ended_ms = performance.now()
    }
    return { seconds: (ended_ms - began_ms) / 1000 }
  },

  async run({ flow, inputs, no_cache }: { flow: string; inputs: Record<string, unknown>; no_cache: boolean }) {
    const { run } = await engine().runs.create(flow, { inputs, no_cache }, AUTHOR)
    for (;;) {
      const { status, error, created_at, finished_at } = await engine().runs.get(run.id)
      if (status === 'succeeded') return { seconds: (parseTime(finished_at!)! - parseTime(created_at)!) / 1e6 }
      if (error !== null) throw new RangeError(`the run has ${status}: ${error.message}`)
      await sleep(20)
    }
  },

  version: ({ message }: { message: string }) => ({ version: engine().messages.get(message).version }),

  gauges: ({ node }: { node: string }) => ({ gauges: engine().nodes.get(node).gauges }),

  async hops({ hops, every_ms }: { hops: number; every_ms: number }) {
    const { messages } = engine()
    const source = '({ x }) => ({ y: Number(process.hrtime.bigint()) / 1000 - x })'
    await engine().flows.save('hop', { document: oneNode(source) }, AUTHOR)
    const taken_us: number[] = []
    for (let hop = 0; hop < hops; hop++) {
      const before = messages.get('hop.y').version
      messages.publish([{ name: 'hop.x', value: Number(process.hrtime.bigint()) / 1000 }])
      await sleep(every_ms)
      const { version, value } = messages.get('hop.y')
      if (version === before + 1) taken_us.push(value as number)
    }
    return { p50_us: median(taken_us) }
  },
})

async function until(isTrue: () => boolean, what: string): Promise<void> {
  const given_up_ms = performance.now() + STALLED_MS
  while (!isTrue()) {
    if (performance.now() > given_up_ms) throw new RangeError(`waited ${STALLED_MS / 1000} s for ${what}`)
    await sleep(1)
  }
}

function freshDirectory(): string {
  const data_dir = mkdtempSync(join(tmpdir(), 'bench-engine-'))
  process.on('exit', () => rmSync(data_dir, { recursive: true, force: true }))
  return data_dir
}

/** False when the flow is at its bound. */
function publishOrWait(name: string, value: number): boolean {
  try {
    engine().messages.publish([{ name, value }])
    return true
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'backlogged') return false
    throw error
  }
}

function oneNode(body: string): FlowDocument {
  return {
    inputs: [{ message: 'x', dtype: 'float' }],
    nodes: [
      {
        id: 'body',
        type: 'code',
        language: 'js',
        source: `export default ${body}`,
        ports: { inputs: [{ name: 'x', dtype: 'float' }], outputs: [{ name: 'y', dtype: 'float' }] },
      },
    ],
  }
}
