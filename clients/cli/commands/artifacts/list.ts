import type { Command } from 'commander'
import type { Client } from '../../../client/client.ts'
import { type Context, connect } from '../../context.ts'
import { countOf } from '../../counts.ts'
import { bytes, shortTime } from '../../output/figures.ts'
import { shortDigests } from '../../output/short-ids.ts'
import { table } from '../../output/table.ts'
import { overBudget } from './budget.ts'

const SHOWN = 100

export function addArtifactsList(artifacts: Command, context: Context): void {
  artifacts
    .command('list', { isDefault: true })
    .description('list the stored artifacts, the newest first')
    .option('--limit <count>', `print at most this many (default: ${SHOWN})`, countOf('--limit'))
    .option('--json', 'print JSON')
    .action(async (options: { limit?: number; json?: boolean }, command: Command) => {
      const { output } = context
      const client = connect(context, command)
      const list = await client.artifacts.list(options.limit ?? SHOWN)
      if (options.json) return output.json(list)
      if (list.items.length === 0)
        return output.note('there are no artifacts; store one with "svc artifacts put <file>"')
      const short = output.width === undefined ? null : shortDigests(list.items.map(({ digest }) => digest))
      output.table(
        table(
          list.items,
          [
            { title: 'digest', cell: ({ digest }) => short?.get(digest) ?? digest },
            { title: 'size', align: 'right', cell: ({ size }) => bytes(size) },
            { title: 'stored', cell: ({ written_at }) => shortTime(written_at) },
          ],
          output.width,
        ),
      )
      if (list.count > list.items.length) output.note(`${list.count} in all; --limit shows more`)
      const budget = await budgetOf(client)
      if (budget !== null) output.note(budget)
    })
}

/** A text when artifacts are over their budget; null when they are not, without a budget, and from older engines. */
async function budgetOf(client: Client): Promise<string | null> {
  const { disk } = await client.status()
  const taken = disk.find(part => part.class === 'artifacts')
  if (!taken?.budget_bytes || taken.bytes <= taken.budget_bytes) return null
  return overBudget(taken.bytes, taken.bytes - taken.budget_bytes)
}
