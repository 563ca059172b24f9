import type { Command } from 'commander'
import { Client } from '../../../client/client.ts'
import { ClientError } from '../../../client/client-error.ts'
import type { Context } from '../../context.ts'
import { usage } from '../../failure.ts'
import { engineAddress } from '../../find-engine.ts'
import { KeptLogins } from '../../kept-logins.ts'

export function addLogout(program: Command, context: Context): void {
  program
    .command('logout')
    .description('sign out: end the token of "svc login" at the engine, and remove it here')
    .argument('[address]', 'the address of the engine (default: the newest sign-in)')
    .action(async (address?: string) => {
      const logins = new KeptLogins(context.environment)
      const url = address === undefined ? logins.list()[0]?.url : engineAddress(address, 'The address')
      const login = url === undefined ? undefined : logins.find(url)
      if (login === undefined) {
        throw usage(
          `No sign-in ${url === undefined ? '' : `at ${url} `}is stored in ${logins.path}, so there is nothing to sign out.`,
        )
      }
      try {
        await new Client(login).logout()
        context.output.note(`signed out at ${login.url}`)
      } catch (error) {
        // The token has ended already.
        if (!(error instanceof ClientError && error.status === 401)) throw error
        context.output.note(`the token for ${login.url} had ended already`)
      }
      logins.forget(login.url)
    })
}
