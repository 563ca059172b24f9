import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'

/** What captures run. */
export interface Programs {
  readonly ffmpeg: string
  /** Of util-linux: ends ffmpeg with the thread that started it. */
  readonly setpriv: string
}

/** Looks along PATH. A text: what is missing, and what to install. */
export async function findPrograms(path: string | undefined = process.env['PATH']): Promise<Programs | string> {
  const ffmpeg = await find('ffmpeg', path)
  if (ffmpeg === null)
    return 'ffmpeg is not on the PATH of the engine; install it (Debian, Ubuntu: apt-get install ffmpeg)'
  const setpriv = await find('setpriv', path)
  if (setpriv === null)
    return 'setpriv is not on the PATH of the engine; install util-linux (Debian, Ubuntu: apt-get install util-linux)'
  return { ffmpeg, setpriv }
}

async function find(program: string, path = ''): Promise<string | null> {
  for (const folder of path.split(delimiter)) {
    // A relative folder would find something else wherever the engine is started.
    if (!isAbsolute(folder)) continue
    const candidate = join(folder, program)
    try {
      await access(candidate, constants.X_OK)
      return candidate
    } catch {
      // Not in this folder.
    }
  }
  return null
}
