import type { Command } from 'commander'
import { runDifferences, runFacts } from '../../../../protocol/values/run-difference.ts'
import { type Context, connect } from '../../context.ts'
import { valueText } from '../../output/run-text.ts'
import { table } from '../../output/table.ts'

export function addRunsDiff(runs: Command, context: Context): void {
  runs
    .command('diff')
    .description('compare two runs: flow, code, inputs, nodes, results')
    .argument('<a>', 'the id of the first run')
    .argument('<b>', 'the id of the second run')
    .option('--json', 'print JSON')
    .action(async (a: string, b: string, options: { json?: boolean }, command: Command) => {
      const { output } = context
      const client = connect(context, command)
      const facts = async (id: string) => runFacts(await client.runs.get(id), (await client.runs.nodes(id)).items)
      const found = runDifferences(...(await Promise.all([facts(a), facts(b)])))
      if (options.json) return output.json({ a, b, differences: found })
      if (found.length === 0) return output.note('the runs differ only in their times')
      output.table(
        table(
          found,
          [
            { title: 'what', cell: ({ path }) => path },
            { title: a, cell: each => shown(each.a) },
            { title: b, cell: each => shown(each.b) },
          ],
          output.width,
        ),
      )
    })
}

const shown = (value: unknown): string => (value === undefined ? '' : valueText(value))
