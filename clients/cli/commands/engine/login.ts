import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { Client } from '../../../client/client.ts'
import type { Context } from '../../context.ts'
import { usage } from '../../failure.ts'
import { engineAddress, isLoopback } from '../../find-engine.ts'
import { KeptLogins } from '../../kept-logins.ts'
import { ask, askHidden } from '../../output/prompt.ts'

interface LoginOptions {
  readonly username?: string
  readonly passwordFile?: string
}

export function addLogin(program: Command, context: Context): void {
  program
    .command('login')
    .description('sign in to an engine elsewhere; later commands find it')
    .argument('<address>', 'such as https://engine.example or http://192.168.0.10:8700')
    .option('--username <name>', 'the user; asked for on a terminal')
    .option('--password-file <path>', 'the file that holds the password, - for standard input; asked for on a terminal')
    .action(async (address: string, options: LoginOptions) => {
      const url = engineAddress(address, 'The address')
      const username = options.username ?? (await askFor(context, '--username', 'user: ', ask))
      const password =
        options.passwordFile === undefined
          ? await askFor(context, '--password-file', 'password: ', askHidden)
          : await readPassword(context, options.passwordFile)
      const answer = await new Client({ url }).login(username, password)
      const logins = new KeptLogins(context.environment)
      const expires_at = new Date(Date.now() + answer.expires_in * 1000).toISOString()
      logins.keep({ url, token: answer.access_token, expires_at })
      context.output.note(`signed in at ${url} as ${username} until ${expires_at}; kept in ${logins.path}`)
      if (url.startsWith('http:') && !isLoopback(url)) {
        context.output.note('the connection is not encrypted: anyone on the way could read the password')
      }
    })
}

async function askFor(
  context: Context,
  flag: string,
  question: string,
  prompt: (stdin: NodeJS.ReadStream, question: string) => Promise<string>,
): Promise<string> {
  if (!context.stdin.isTTY) throw usage(`Standard input is no terminal to ask on; give ${flag}.`)
  return prompt(context.stdin, question)
}

async function readPassword(context: Context, path: string): Promise<string> {
  if (path === '-') return (await text(context.stdin)).replace(/\r?\n$/, '')
  try {
    return readFileSync(resolve(context.cwd, path), 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw usage(`--password-file ${path} cannot be read (${(error as Error).message}).`)
  }
}
