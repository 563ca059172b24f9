import type { Command } from 'commander'
import type { Run } from '../../../../protocol/nouns/run.ts'
import { type Context, connect } from '../../context.ts'
import { usage } from '../../failure.ts'
import { collected } from '../../selection.ts'

/** `svc runs tag` and `svc runs note` change a run after its creation. */

export function addRunsTag(runs: Command, context: Context): void {
  runs
    .command('tag')
    .description('add tags to a run, or remove some')
    .argument('<run>', 'its id')
    .argument('[tag...]', 'tags to add')
    .option('-r, --remove <tag>', 'a tag to remove; may be repeated', collected)
    .action(async (id: string, added: string[], { remove = [] }: { remove?: string[] }, command: Command) => {
      if (added.length + remove.length === 0) throw usage('Give a tag to add, or --remove <tag>.')
      const change = { add_tags: added, remove_tags: remove }
      const { id: whole, tags } = await connect(context, command).runs.change(id, change)
      context.output.note(`run ${whole} has ${tags.length === 0 ? 'no tags' : `the tags ${tags.join(', ')}`}`)
    })
}

export function addRunsNote(runs: Command, context: Context): void {
  runs
    .command('note')
    .description('print the note of a run, or write it')
    .argument('<run>', 'its id')
    .argument('[text]', 'the new note; "" removes it')
    .action(async (id: string, text: string | undefined, _options: object, command: Command) => {
      const { runs } = connect(context, command)
      const run: Run = text === undefined ? await runs.get(id) : await runs.change(id, { note: text })
      if (text === undefined && run.note !== '') return context.output.lines([run.note])
      context.output.note(`run ${run.id} has ${run.note === '' ? 'no note' : 'a new note'}`)
    })
}
