import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Context } from './context.ts'
import { usage } from './failure.ts'
import { ask, askHidden } from './output/prompt.ts'

/** Reads a password from the file that the flag names (`-` is standard input), or asks for it on the terminal without showing it. */
export function passwordOf(
  context: Context,
  flag: string,
  path: string | undefined,
  question: string,
): Promise<string> {
  return path === undefined ? askFor(context, flag, question, askHidden) : readPassword(context, flag, path)
}

export const askName = (context: Context, flag: string): Promise<string> => askFor(context, flag, 'user: ', ask)

/** Asks twice on the terminal, so that a typing mistake locks nobody out. */
export async function newPasswordOf(context: Context, flag: string, path: string | undefined): Promise<string> {
  const password = await passwordOf(context, flag, path, 'new password: ')
  if (path === undefined && password !== (await passwordOf(context, flag, path, 'again: ')))
    throw usage('The two passwords differ. Nothing was changed.')
  return password
}

async function askFor(context: Context, flag: string, question: string, prompt: typeof ask): Promise<string> {
  if (!context.stdin.isTTY)
    throw usage(`Standard input is not a terminal, so the password cannot be asked for; give ${flag}.`)
  return prompt(context.stdin, question)
}

async function readPassword(context: Context, flag: string, path: string): Promise<string> {
  if (path === '-') return (await text(context.stdin)).replace(/\r?\n$/, '')
  try {
    return readFileSync(resolve(context.cwd, path), 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw usage(`${flag} ${path} cannot be read (${(error as Error).message}).`)
  }
}
