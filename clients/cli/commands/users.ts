import { type Command, Option } from 'commander'
import type { ChangeUser, User } from '../../../protocol/nouns/accounts/user.ts'
import { ROLES, type Role } from '../../../protocol/words/scopes.ts'
import { Client } from '../../client/client.ts'
import { type Context, connect, engineOf } from '../context.ts'
import { usage } from '../failure.ts'
import { addGroup } from '../group.ts'
import { KeptLogins } from '../kept-logins.ts'
import { shortTime } from '../output/figures.ts'
import { table } from '../output/table.ts'
import { newPasswordOf, passwordOf } from '../passwords.ts'

const PASSWORD_FILE = '--password-file <path>'
const ASKED = 'the file that holds the password, - for standard input; asked for on a terminal'

const DISPLAY_NAME = 'how screens show the user'
const MAIL = 'where links for a new password go'

interface SetOptions {
  readonly role?: Role
  readonly displayName?: string
  readonly mail?: string
  readonly json?: boolean
}
interface AddOptions extends SetOptions {
  readonly passwordFile?: string
  readonly superuser?: boolean
}

/** The names that were given; an empty one removes the stored name. */
const namesOf = ({ displayName, mail }: SetOptions): Pick<ChangeUser, 'display_name' | 'mail'> => ({
  ...(displayName !== undefined && { display_name: displayName || null }),
  ...(mail !== undefined && { mail: mail || null }),
})

export function addUsers(program: Command, context: Context): void {
  addGroup(program, context, {
    name: 'users',
    description: 'list, add, change and remove the users who may sign in',
    commands: [
      addUsersList,
      addUsersAdd,
      addUsersSet,
      addUsersDisable,
      addUsersEnable,
      addUsersRemove,
      addUsersPasswd,
      addUsersReset,
    ],
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
    .addOption(new Option('--role <role>', 'what the user may do (default: editor)').choices(ROLES))
    .option('--superuser', 'the same as --role superuser')
    .option('--display-name <text>', DISPLAY_NAME)
    .option('--mail <address>', MAIL)
    .option('--json', 'print JSON')
    .action(async (name: string, options: AddOptions, command: Command) => {
      if (options.superuser && options.role !== undefined && options.role !== 'superuser')
        throw usage(`--superuser and --role ${options.role} contradict each other; give one of the two.`)
      const client = connect(context, command)
      const password = await newPasswordOf(context, '--password-file', options.passwordFile)
      const role = options.role ?? (options.superuser ? 'superuser' : 'editor')
      const user = await client.users.add({ name, password, role, ...namesOf(options) })
      if (options.json) return context.output.json(user)
      context.output.note(`user ${user.name} is added as ${user.role}`)
    })
}

function addUsersSet(users: Command, context: Context): void {
  users
    .command('set')
    .description('change role, display name or mail address of a user; what is not given stays')
    .argument('<name>', 'the user')
    .addOption(new Option('--role <role>', 'what the user may do').choices(ROLES))
    .option('--display-name <text>', `${DISPLAY_NAME}; empty for none`)
    .option('--mail <address>', `${MAIL}; empty for none`)
    .option('--json', 'print JSON')
    .action(async (name: string, options: SetOptions, command: Command) => {
      const change: ChangeUser = { ...(options.role && { role: options.role }), ...namesOf(options) }
      if (Object.keys(change).length === 0) throw usage('Give what to change: --role, --display-name or --mail.')
      const user = await connect(context, command).users.change(name, change)
      if (options.json) return context.output.json(user)
      context.output.table(usersTable([user], context.output.width))
    })
}

function addUsersDisable(users: Command, context: Context): void {
  users
    .command('disable')
    .description('disable a user, who can no longer sign in; all tokens of the user end at once')
    .argument('<name>', 'the user')
    .action(async (name: string, _options: object, command: Command) => {
      await connect(context, command).users.change(name, { disabled: true })
      context.output.note(`user ${name} is disabled`)
    })
}

function addUsersEnable(users: Command, context: Context): void {
  users
    .command('enable')
    .description('enable a disabled user, who can sign in again')
    .argument('<name>', 'the user')
    .action(async (name: string, _options: object, command: Command) => {
      await connect(context, command).users.change(name, { disabled: false })
      context.output.note(`user ${name} may sign in again`)
    })
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

function addUsersReset(users: Command, context: Context): void {
  users
    .command('reset')
    .description('set a new password with the token of a mail or of a reset file; all tokens of the user end')
    .argument('<token>', 'the token; it works once')
    .option(PASSWORD_FILE, 'the file with the new password, - for standard input; asked for on a terminal')
    .action(async (token: string, options: { passwordFile?: string }, command: Command) => {
      const client = connect(context, command)
      const password = await newPasswordOf(context, '--password-file', options.passwordFile)
      await client.users.resetPassword(token, password)
      context.output.note('the new password is set; sign in with it')
    })
}

const usersTable = (users: readonly User[], width: number | undefined): string[] =>
  table(
    users,
    [
      { title: 'user', cell: ({ name }) => name },
      { title: 'role', cell: ({ role, disabled }) => (disabled ? `${role}, disabled` : role) },
      { title: 'display name', cell: ({ display_name }) => display_name ?? '-' },
      { title: 'mail', cell: ({ mail }) => mail ?? '-' },
      { title: 'since', cell: ({ created_at }) => shortTime(created_at) },
    ],
    width,
  )
