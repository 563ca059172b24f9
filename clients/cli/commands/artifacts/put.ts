import { createReadStream, statSync } from 'node:fs'
import { extname, resolve } from 'node:path'
import type { Command } from 'commander'
import { EXIT } from '../../../../protocol/settings.ts'
import type { ByteSource } from '../../../client/transport.ts'
import { type Context, connect } from '../../context.ts'
import { Failure, usage } from '../../failure.ts'
import { Transfer } from '../../output/transfer.ts'

interface PutOptions {
  readonly mediaType?: string
  readonly meta?: string
  readonly json?: boolean
}

/** Media types by the endings of common files; all others are application/octet-stream. */
const TYPES: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.flac': 'audio/flac',
  '.gif': 'image/gif',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.mp3': 'audio/mpeg',
  '.mp4': 'video/mp4',
  '.ogg': 'audio/ogg',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain',
  '.wav': 'audio/wav',
  '.webm': 'video/webm',
  '.webp': 'image/webp',
}

export function addArtifactsPut(artifacts: Command, context: Context): void {
  artifacts
    .command('put')
    .description('store a file, and print its digest')
    .argument('<file>', 'the file; - reads standard input')
    .option('--media-type <type>', 'the media type, such as image/png (default: by the file extension)')
    .option('--meta <json>', 'a JSON object to store in the reference')
    .option('--json', 'print the whole reference as JSON')
    .action(async (file: string, options: PutOptions, command: Command) => {
      const { output } = context
      const { source, length } = file === '-' ? stdinOf(context) : fileOf(resolve(context.cwd, file))
      const transfer = new Transfer(output, 'stored', length)
      const meta = options.meta === undefined ? undefined : metaOf(options.meta)
      try {
        const reference = await connect(context, command).artifacts.put(() => transfer.counted(source()), {
          media_type: options.mediaType ?? TYPES[extname(file).toLowerCase()] ?? 'application/octet-stream',
          ...(meta === undefined ? {} : { meta }),
          ...(length === null ? {} : { length }),
        })
        transfer.end()
        if (options.json) output.json(reference)
        else output.lines([reference.digest])
      } finally {
        transfer.end()
      }
    })
}

function fileOf(path: string): { source: ByteSource; length: number | null } {
  try {
    const stats = statSync(path)
    if (stats.isDirectory()) throw usage(`${path} is a directory; name a file.`)
    // A pipe and the like have no length.
    return {
      source: () => createReadStream(path, { highWaterMark: 256 * 1024 }),
      length: stats.isFile() ? stats.size : null,
    }
  } catch (error) {
    if (error instanceof Failure) throw error
    throw usage(`${path} cannot be read (${(error as Error).message}).`)
  }
}

/** Standard input can be read only once, so a broken upload is not repeated. */
function stdinOf({ stdin }: Context): { source: ByteSource; length: null } {
  let isRead = false
  async function* source(): AsyncGenerator<Uint8Array> {
    if (isRead)
      throw new Failure(EXIT.failed, 'The upload broke off, and standard input cannot be read again. Try again.')
    isRead = true
    yield* stdin
  }
  return { source, length: null }
}

function metaOf(text: string): Record<string, unknown> {
  try {
    const meta = JSON.parse(text) as unknown
    if (typeof meta === 'object' && meta !== null && !Array.isArray(meta)) return meta as Record<string, unknown>
  } catch {}
  throw usage(`--meta is ${JSON.stringify(text)}; expected a JSON object.`)
}
