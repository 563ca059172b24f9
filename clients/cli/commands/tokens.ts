import { type Command, Option } from 'commander'
import { limits } from '../../../protocol/limits.ts'
import type { LastingToken } from '../../../protocol/nouns/accounts/lasting-token.ts'
import { RIGHTS, type Right } from '../../../protocol/words/token-rights.ts'
import { type Context, connect } from '../context.ts'
import { secondsOf } from '../given-times.ts'
import { addGroup } from '../group.ts'
import { shortTime } from '../output/figures.ts'
import { table } from '../output/table.ts'

export function addTokens(program: Command, context: Context): void {
  addGroup(program, context, {
    name: 'tokens',
    alias: 'token',
    description: 'tokens for programs such as Prometheus, with few rights',
    commands: [addTokensList, addTokensCreate, addTokensRevoke],
  })
}

function addTokensList(tokens: Command, context: Context): void {
  tokens
    .command('list', { isDefault: true })
    .description('list the tokens by name, without their secrets')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }, command: Command) => {
      const list = await connect(context, command).tokens.list()
      if (options.json) return context.output.json(list)
      if (list.items.length === 0)
        return context.output.note('there are no tokens; create one with "svc tokens create <name>"')
      context.output.table(tokensTable(list.items, context.output.width))
    })
}

function addTokensCreate(tokens: Command, context: Context): void {
  tokens
    .command('create')
    .description('create a token and print it; it is shown only once, because only its hash is stored')
    .argument('<name>', 'letters, digits and _ . -')
    .addOption(new Option('--rights <right...>', 'what it may do').choices(RIGHTS).makeOptionMandatory())
    .option('--expires <time>', 'how long it is valid: a number and h, d, w or y; at most 10y', '1y')
    .option('--json', 'print JSON')
    .action(async (name: string, options: { rights: Right[]; expires: string; json?: boolean }, command: Command) => {
      const expires_s = secondsOf(options.expires, limits.LASTING_TOKEN_LIFETIME_S)
      const created = await connect(context, command).tokens.create({ name, rights: options.rights, expires_s })
      if (options.json) return context.output.json(created)
      context.output.note(`token ${name} may read ${created.rights.join(', ')} until ${shortTime(created.expires_at)}`)
      context.output.lines([created.token])
    })
}

function addTokensRevoke(tokens: Command, context: Context): void {
  tokens
    .command('revoke')
    .description('end a token at once')
    .argument('<name>', 'the token')
    .action(async (name: string, _options: object, command: Command) => {
      await connect(context, command).tokens.revoke(name)
      context.output.note(`token ${name} is revoked`)
    })
}

const tokensTable = (tokens: readonly LastingToken[], width: number | undefined): string[] =>
  table(
    tokens,
    [
      { title: 'token', cell: ({ name }) => name },
      { title: 'rights', cell: ({ rights }) => rights.join(', ') },
      { title: 'expires', cell: ({ expires_at }) => shortTime(expires_at) },
      { title: 'by', cell: ({ created_by }) => created_by },
      { title: 'id', cell: ({ id }) => id },
    ],
    width,
  )
