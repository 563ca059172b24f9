import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Context } from './context.ts'
import { usage } from './failure.ts'

/** The JSON document of a file; `-` is standard input. */
export async function readJsonFile(context: Context, file: string): Promise<unknown> {
  const content = await readWhole(context, file)
  try {
    return JSON.parse(content)
  } catch (error) {
    throw usage(`${file === '-' ? 'Standard input' : file} is not valid JSON (${(error as Error).message}).`)
  }
}

async function readWhole(context: Context, file: string): Promise<string> {
  if (file !== '-') {
    try {
      return readFileSync(resolve(context.cwd, file), 'utf8')
    } catch (error) {
      throw usage(`${file} cannot be read (${(error as Error).message}).`)
    }
  }
  if (context.stdin.isTTY) throw usage('Standard input is a terminal; name the file that holds the document.')
  return text(context.stdin)
}

/** The document; also of a whole object as `get --json` prints it. */
export function documentOf(parsed: unknown): unknown {
  const isWhole = typeof parsed === 'object' && parsed !== null && 'document' in parsed
  return isWhole ? parsed.document : parsed
}
