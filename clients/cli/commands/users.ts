import type { Command } from 'commander'
import type { User } from '../../../protocol/nouns/accounts/user.ts'
import { Client } from '../../client/client.ts'
import { type Context, connect, engineOf } from '../context.ts'
import { addGroup } from '../group.ts'
import { KeptLogins } from '../kept-logins.ts'
import { shortTime } from '../output/figures.ts'
import { table } from '../output/table.ts'
import { newPasswordOf, passwordOf } from '../passwords.ts'

const PASSWORD_FILE = '--password-file <path>'
const ASKED = 'the file that holds the password, - for standard input; asked for on a terminal'

export function addUsers(program: Command, context: Context): void {
  addGroup(program, context, {
    name: 'users',
    description: 'who may sign in at the engine',
    commands: [addUsersList, addUsersAdd, addUsersRemove, addUsersPasswd],
  })
}

function addUsersList(users: Command, context: Context): void {
  users
    .command('list', { isDefault: true })
    .description('list the users by name')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }, command: Command) => {
      const list = await connect(context, command).users.list()
      if (options.json) return context.output.json(list)
      context.output.table(usersTable(list.items, context.output.width))
    })
}

function addUsersAdd(users: Command, context: Context): void {
  users
    .command('add')
    .description('add a user')
    .argument('<name>', 'letters, digits and _ . @ + -, such as an e-mail address')
    .option(PASSWORD_FILE, ASKED)
    .option('--superuser', 'may also manage users')
    .option('--json', 'print JSON')
    .action(
      async (
        name: string,
        options: { passwordFile?: string; superuser?: boolean; json?: boolean },
        command: Command,
      ) => {
        const client = connect(context, command)
        const password = await newPasswordOf(context, '--password-file', options.passwordFile)
        const user = await client.users.add({ name, password, superuser: options.superuser ?? false })
        if (options.json) return context.output.json(user)
        context.output.note(`${user.superuser ? 'superuser' : 'user'} ${user.name} is added`)
      },
    )
}

function addUsersRemove(users: Command, context: Context): void {
  users
    .command('remove')
    .description('remove a user; all tokens of the user end at once')
    .argument('<name>', 'the user')
    .action(async (name: string, _options: object, command: Command) => {
      await connect(context, command).users.remove(name)
      context.output.note(`user ${name} is removed`)
    })
}

function addUsersPasswd(users: Command, context: Context): void {
  users
    .command('passwd')
    .description('change your password; all your other tokens end')
    .option('--old-password-file <path>', 'the file that holds the old password; asked for on a terminal')
    .option(PASSWORD_FILE, 'the file with the new password, - for standard input; asked for on a terminal')
    .action(async (options: { oldPasswordFile?: string; passwordFile?: string }, command: Command) => {
      const { output, environment } = context
      const engine = engineOf(context, command)
      const client = new Client(engine)
      const { name } = await client.users.me()
      const old = await passwordOf(context, '--old-password-file', options.oldPasswordFile, `old password of ${name}: `)
      const password = await newPasswordOf(context, '--password-file', options.passwordFile)
      const { access_token, expires_in } = await client.users.changePassword(old, password)
      const logins = new KeptLogins(environment)
      if (logins.find(engine.url) !== undefined) {
        const expires_at = new Date(Date.now() + expires_in * 1000).toISOString()
        logins.keep({ url: engine.url, token: access_token, expires_at })
      }
      output.note(`the password of ${name} is changed; every other token of ${name} has ended`)
    })
}

const usersTable = (users: readonly User[], width: number | undefined): string[] =>
  table(
    users,
    [
      { title: 'user', cell: ({ name }) => name },
      { title: 'superuser', cell: ({ superuser }) => (superuser ? 'yes' : 'no') },
      { title: 'since', cell: ({ created_at }) => shortTime(created_at) },
    ],
    width,
  )
