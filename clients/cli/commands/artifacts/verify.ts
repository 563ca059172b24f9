import type { Command } from 'commander'
import type { DamagedArtifact, VerifyLine } from '../../../../protocol/nouns/artifact.ts'
import { EXIT } from '../../../../protocol/settings.ts'
import { type Context, connect } from '../../context.ts'
import { Failure } from '../../failure.ts'
import { bytes } from '../../output/figures.ts'
import { table } from '../../output/table.ts'

export function addArtifactsVerify(artifacts: Command, context: Context): void {
  artifacts
    .command('verify')
    .description('read every artifact, and list those whose content no longer fits their digest')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }, command: Command) => {
      const { output } = context
      const damaged: DamagedArtifact[] = []
      let last: VerifyLine | null = null
      try {
        for await (const line of connect(context, command).artifacts.verify()) {
          last = line
          damaged.push(...line.damaged)
          output.progress(`read ${line.verified} artifacts, ${bytes(line.bytes)}`)
        }
      } finally {
        output.progress('')
      }
      if (last?.done !== true) throw new Failure(EXIT.failed, 'The verification broke off. Try again.')
      if (options.json) output.json({ verified: last.verified, bytes: last.bytes, damaged })
      else if (damaged.length > 0) output.table(damagedTable(damaged, output.width))
      output.note(
        `${last.verified} artifacts, ${bytes(last.bytes)}: ${damaged.length === 0 ? 'no damage' : `${damaged.length} damaged`}`,
      )
      if (damaged.length > 0) throw new Failure(EXIT.failed, 'Store the damaged artifacts again from their source.')
    })
}

const damagedTable = (damaged: readonly DamagedArtifact[], width: number | undefined): string[] =>
  table(
    damaged,
    [
      { title: 'digest', cell: ({ digest }) => digest },
      { title: 'size', align: 'right', cell: ({ size }) => bytes(size) },
      { title: 'found', cell: ({ found }) => found ?? 'unreadable' },
    ],
    width,
  )
