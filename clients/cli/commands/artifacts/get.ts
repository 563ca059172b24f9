import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { EXIT } from '../../../../protocol/settings.ts'
import { ClientError } from '../../../client/client-error.ts'
import { type Context, connect } from '../../context.ts'
import { Failure, usage } from '../../failure.ts'
import { Transfer } from '../../output/transfer.ts'
import { writeWhole } from '../../whole-file.ts'

export function addArtifactsGet(artifacts: Command, context: Context): void {
  artifacts
    .command('get')
    .description('fetch an artifact, and check that what came is what it is named for')
    .argument('<digest>', 'sha256:<64 hex digits>, or the beginning of the digits')
    .argument('[file]', 'the file to write; - or none: standard output')
    .action(async (digest: string, file: string | undefined, _options: object, command: Command) => {
      const { output } = context
      const hex = /^(?:sha256:)?([0-9a-f]{4,64})$/.exec(digest)?.[1]
      if (hex === undefined)
        throw usage(
          `${JSON.stringify(digest)} is no digest: "sha256:" and 64 hex digits are needed, or at least the first four of them.`,
        )
      const { stream, length } = await connect(context, command).artifacts.get(digest)
      const transfer = new Transfer(output, 'fetched', length)
      const hash = createHash('sha256')
      const bytes = digested(transfer.counted(stream), hash)
      try {
        if (file === undefined || file === '-') await output.pour(bytes)
        else await writeWhole(resolve(context.cwd, file), bytes, () => assertDigest(hash.copy().digest('hex'), hex))
      } catch (error) {
        if (error instanceof Failure || error instanceof ClientError) throw error
        throw new Failure(EXIT.failed, `It broke off (${(error as Error).message}): what came is not the whole.`)
      } finally {
        transfer.end()
      }
      assertDigest(hash.digest('hex'), hex)
    })
}

async function* digested(source: AsyncIterable<Uint8Array>, hash: ReturnType<typeof createHash>) {
  for await (const part of source) {
    hash.update(part)
    yield part
  }
}

/** Of a short digest, what is known of it. */
function assertDigest(found: string, wanted: string): void {
  if (found.startsWith(wanted)) return
  const text = `What came digests to sha256:${found}: it was changed in the store or on its way. "svc artifacts verify" checks all.`
  throw new Failure(EXIT.failed, text)
}
