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
    .description('fetch an artifact, and check its digest')
    .argument('<digest>', 'sha256:<64 hex digits>, or the first digits')
    .argument('[file]', 'the file to write; - writes standard output (default: -)')
    .action(async (digest: string, file: string | undefined, _options: object, command: Command) => {
      const { output } = context
      const hex = /^(?:sha256:)?([0-9a-f]{4,64})$/.exec(digest)?.[1]
      if (hex === undefined)
        throw usage(
          `${JSON.stringify(digest)} is not a valid digest; expected "sha256:" and 64 hex digits, or at least the first four digits.`,
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
        throw new Failure(
          EXIT.failed,
          `The download broke off (${(error as Error).message}): the file is incomplete. Try again.`,
        )
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

/** Compares the digest of the bytes with the given one, which may be short. */
function assertDigest(found: string, wanted: string): void {
  if (found.startsWith(wanted)) return
  const text = `The bytes have the digest sha256:${found}: they were changed in the store or on the way. "svc artifacts verify" checks the store.`
  throw new Failure(EXIT.failed, text)
}
