import { resolve } from 'node:path'
import type { Command } from 'commander'
import { isQualified } from '../../../../protocol/names.ts'
import { Client, followLive } from '../../../client/client.ts'
import type { MediaFrame } from '../../../client/live/media.ts'
import { type Context, engineOf } from '../../context.ts'
import { countOf } from '../../counts.ts'
import { usage } from '../../failure.ts'
import type { FoundEngine } from '../../find-engine.ts'
import { bytes } from '../../output/figures.ts'
import { Series } from '../../output/series.ts'
import { writeWhole } from '../../whole-file.ts'

/** Interval of lines about frames on a terminal; elsewhere each frame has a line. */
const LINE_MS = 1_000
/** The dtypes whose messages have frames. */
const REFERENCES: readonly string[] = ['image', 'audio', 'video', 'artifact']

interface WatchOptions {
  readonly out?: string
  readonly count?: number
  readonly json?: boolean
}

export function addWatch(program: Command, context: Context): void {
  program
    .command('watch')
    .description('follow one message: the size and rate of its frames, or its values')
    .argument('<message>', 'the message (<flow>.<message>)')
    .option('--out <file>', 'write each frame to this file, in place of the one before')
    .option('--count <count>', 'end after this many frames or values', countOf('--count'))
    .option('--json', 'print one JSON document per line and frame or value')
    .action(async (name: string, options: WatchOptions, command: Command) => {
      if (!isQualified(name)) throw usage(`${name} is not a <flow>.<message>.`)
      const find = (): FoundEngine => engineOf(context, command)
      const client = new Client(find())
      const { dtype } = await client.messages.get(name)
      if (REFERENCES.includes(dtype)) return watchFrames(context, client, name, options)
      if (options.out !== undefined)
        throw usage(`${name} is ${dtype}: --out takes frames of an image, audio, video or artifact.`)
      return watchValues(context, find, name, options)
    })
}

async function watchFrames({ output, cwd }: Context, client: Client, name: string, options: WatchOptions) {
  const rate = new Series(name)
  let left = options.count ?? Number.POSITIVE_INFINITY
  let shown_ms = Number.NEGATIVE_INFINITY
  for await (const frame of client.media([name])) {
    const now_ms = performance.now()
    rate.add(null, 0, now_ms)
    // The file is replaced as a whole, so that readers see one frame or the next.
    if (options.out !== undefined) await writeWhole(resolve(cwd, options.out), one(frame.bytes))
    left--
    if (options.json) output.jsonLine(documentOf(frame))
    else if (!output.isTerminal || now_ms - shown_ms >= LINE_MS || left === 0) {
      output.raw(lineOf(frame, rate.rate(now_ms)))
      shown_ms = now_ms
    }
    if (left === 0) return
  }
}

async function* one(part: Uint8Array): AsyncGenerator<Uint8Array> {
  yield part
}

const documentOf = ({ name, version, digest, media_type, meta, bytes: { length } }: MediaFrame) => ({
  ...{ name, version, digest, media_type, meta },
  size: length,
})

function lineOf({ version, media_type, meta, bytes: { length } }: MediaFrame, per_s: number): string {
  const { width, height } = meta ?? {}
  const size = typeof width === 'number' && typeof height === 'number' ? `, ${width} x ${height}` : ''
  return `frame ${version}: ${media_type}${size}, ${bytes(length)}, ${per_s.toFixed(1)}/s`
}

async function watchValues({ output }: Context, find: () => FoundEngine, name: string, options: WatchOptions) {
  let left = options.count ?? Number.POSITIVE_INFINITY
  const ended = Promise.withResolvers<void>()
  const socket = await followLive({
    find,
    names: [name],
    flows: [],
    newFlows: false,
    onLink: url => {
      if (url === null) output.note('the connection was lost; reconnecting')
    },
    onNotice: text => output.note(text),
    onFailure: ended.reject,
    onValue: frame => {
      if (left <= 0) return
      if (options.json) output.jsonLine(frame)
      else output.raw(`${frame.ts} ${JSON.stringify(frame.value)}`)
      if (--left <= 0) ended.resolve()
    },
  })
  await ended.promise
  socket.close()
}
