import type { Command } from 'commander'
import { Client } from '../../../client/client.ts'
import type { Context } from '../../context.ts'
import { engineAddress, isLoopback } from '../../find-engine.ts'
import { KeptLogins } from '../../kept-logins.ts'
import { askName, passwordOf } from '../../passwords.ts'

interface LoginOptions {
  readonly username?: string
  readonly passwordFile?: string
}

export function addLogin(program: Command, context: Context): void {
  program
    .command('login')
    .description('sign in to an engine on another machine; later commands use it')
    .argument('<address>', 'such as https://engine.example or http://192.168.0.10:8700')
    .option('--username <name>', 'the user; asked for on a terminal')
    .option('--password-file <path>', 'the file that holds the password, - for standard input; asked for on a terminal')
    .action(async (address: string, options: LoginOptions) => {
      const url = engineAddress(address, 'The address')
      const username = options.username ?? (await askName(context, '--username'))
      const password = await passwordOf(context, '--password-file', options.passwordFile, 'password: ')
      const answer = await new Client({ url }).login(username, password)
      const logins = new KeptLogins(context.environment)
      const expires_at = new Date(Date.now() + answer.expires_in * 1000).toISOString()
      logins.keep({ url, token: answer.access_token, expires_at })
      context.output.note(`signed in at ${url} as ${username} until ${expires_at}; stored in ${logins.path}`)
      if (url.startsWith('http:') && !isLoopback(url)) {
        context.output.note('the connection is not encrypted: others on the network could read the password')
      }
    })
}
