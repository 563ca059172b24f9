import { buffer } from 'node:stream/consumers'
import type { Command } from 'commander'
import type { Secret } from '../../../protocol/nouns/accounts/secret.ts'
import { type Context, connect } from '../context.ts'
import { usage } from '../failure.ts'
import { addGroup } from '../group.ts'
import { shortTime } from '../output/figures.ts'
import { askHidden } from '../output/prompt.ts'
import { table } from '../output/table.ts'

export function addSecrets(program: Command, context: Context): void {
  addGroup(program, context, {
    name: 'secrets',
    alias: 'secret',
    description: 'passwords, keys and tokens that flows use by name',
    commands: [addSecretsList, addSecretsSet, addSecretsDelete, addSecretsRekey],
  })
}

function addSecretsList(secrets: Command, context: Context): void {
  secrets
    .command('list', { isDefault: true })
    .description('list the secrets by name, and the nodes that use them; never a value')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }, command: Command) => {
      const { output } = context
      const list = await connect(context, command).secrets.list()
      if (options.json) return output.json(list)
      if (list.items.length === 0) return output.note('there are no secrets; store one with "svc secrets set <name>"')
      output.table(secretsTable(list.items, output.width))
    })
}

function addSecretsSet(secrets: Command, context: Context): void {
  secrets
    .command('set')
    .description('store a secret, or give it another value, read from standard input or asked for on a terminal')
    .argument('<name>', 'any text')
    .action(async (name: string, _options: object, command: Command) => {
      const client = connect(context, command)
      await client.secrets.set(name, await readValue(context, name))
      context.output.note(`secret ${name} is stored`)
    })
}

function addSecretsDelete(secrets: Command, context: Context): void {
  secrets
    .command('delete')
    .description('remove a secret that no node uses')
    .argument('<name>', 'the secret')
    .action(async (name: string, _options: object, command: Command) => {
      await connect(context, command).secrets.delete(name)
      context.output.note(`secret ${name} is removed`)
    })
}

function addSecretsRekey(secrets: Command, context: Context): void {
  secrets
    .command('rekey')
    .description('make a new key and seal all secrets under it')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }, command: Command) => {
      const { output } = context
      const rekeyed = await connect(context, command).secrets.rekey()
      if (options.json) return output.json(rekeyed)
      output.note(`${rekeyed.count} secrets are sealed under a new key; back up key.pem again`)
    })
}

/** A secret is never an argument, since arguments are visible in the history of the shell and in the list of processes. */
async function readValue({ stdin }: Context, name: string): Promise<string> {
  if (stdin.isTTY) return askHidden(stdin, `value of ${name}: `)
  const bytes = await buffer(stdin)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw usage('Standard input is not UTF-8 text. Encode bytes first, for example with "base64 -w0 <file>".')
  }
  // `echo` adds a line end to a single word; a text of several lines keeps its last one.
  const line = text.replace(/\r?\n$/, '')
  return line.includes('\n') ? text : line
}

const secretsTable = (secrets: readonly Secret[], width: number | undefined): string[] =>
  table(
    secrets,
    [
      { title: 'secret', cell: ({ name }) => name },
      { title: 'updated', cell: ({ updated_at }) => shortTime(updated_at) },
      { title: 'by', cell: ({ updated_by }) => updated_by },
      { title: 'used by', cell: ({ used_by }) => used_by.join(', ') },
    ],
    width,
  )
