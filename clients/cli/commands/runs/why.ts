import type { Command } from 'commander'
import type { RunNodeWhy } from '../../../../protocol/nouns/run.ts'
import { type Context, connect } from '../../context.ts'
import { printable } from '../../output/text.ts'

export function addWhy(program: Command, context: Context): void {
  program
    .command('why')
    .description('explain why a node of a run was cached, or what changed so that it ran')
    .argument('<run>', 'the id of the run')
    .argument('<node>', 'the id of the node')
    .option('--json', 'print JSON')
    .action(async (run: string, node: string, options: { json?: boolean }, command: Command) => {
      const why = await connect(context, command).runs.why(run, node)
      if (options.json) return context.output.json(why)
      context.output.lines(sentences(why).map(printable))
    })
}

/** What the answer means, for people. */
export function sentences({ node, status, cache, cached_from, nearest, changed }: RunNodeWhy): string[] {
  const state = `${node} is ${status}`
  switch (cache) {
    case 'hit':
      return [`${state}: hit, from run ${cached_from}`]
    case 'off':
      return [`${state}: the run or the node opted out of the stage cache`]
    case 'not_cacheable':
      return [`${state}: it cannot be cached (a built-in type, or inputs that came in a stream)`]
    default:
      if (nearest === null) return [`${state}: miss; no earlier run has the node`]
      if (changed.length === 0)
        return [`${state}: miss, although nothing changed since run ${nearest}: what that one made is not kept`]
      return [`${state}: miss; since run ${nearest} these changed: ${changed.join(', ')}`]
  }
}
