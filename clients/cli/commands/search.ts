import type { Command } from 'commander'
import { limits } from '../../../protocol/limits.ts'
import type { Found } from '../../../protocol/nouns/search/found.ts'
import { type Context, connect } from '../context.ts'
import { wholeOf } from '../counts.ts'
import { table } from '../output/table.ts'

export function addSearch(program: Command, context: Context): void {
  program
    .command('search')
    .description('find flows, nodes, messages, dashboards, panels, runs, artifacts, users and names of secrets')
    .argument('<word...>', 'words of a name or a text, or their beginnings; an id or a digest')
    .option('--limit <count>', `print at most this many, up to ${limits.SEARCH_FOUND}`, wholeOf('--limit'), 20)
    .option('--json', 'print JSON')
    .action(async (words: string[], options: { limit: number; json?: boolean }, command: Command) => {
      const { output } = context
      const result = await connect(context, command).search(words.join(' '), options.limit)
      if (options.json) return output.json(result)
      if (result.found.length > 0) output.table(foundTable(result.found, output.width))
      else output.note('nothing was found')
      if (result.more) output.note('there is more; give more words, or a larger --limit')
      if (!result.complete) output.note('the index is being made; search again in a moment')
    })
}

const foundTable = (found: readonly Found[], width: number | undefined): string[] =>
  table(
    found,
    [
      { title: 'kind', cell: ({ kind }) => kind },
      { title: 'name', cell: ({ name }) => name },
      { title: 'text', cell: ({ snippet }) => snippet.map(({ text }) => text.replace(/\s+/g, ' ')).join('') },
    ],
    width,
  )
