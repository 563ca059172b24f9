import { parentPort, workerData } from 'node:worker_threads'

/** Asks an engine from a thread of its own, so that the thread of the test does nothing but what the engine does in it. */
export interface Asked {
  readonly method: string
  readonly path: string
  /** With `$` where the large value goes. */
  readonly body: string | null
  /** The large value, by its name. */
  readonly large: string | null
}

export interface DriverTask {
  readonly url: string
  readonly token: string
  readonly larges: Readonly<Record<string, string>>
}

const { url, token, larges } = workerData as DriverTask

/** What came back; the text only where the answer has a line about stretches over the bound. */
export interface Answered {
  readonly status: number
  readonly held: string
}

async function ask({ method, path, body, large }: Asked): Promise<Answered> {
  const headers: Record<string, string> = {
    authorization: `Bearer ${token}`,
    accept: 'application/json, text/event-stream',
  }
  if (body !== null) headers['content-type'] = 'application/json'
  const text = body === null || large === null ? body : body.replace('$', () => larges[large]!)
  const answer = await fetch(`${url}${path}`, { method, headers, ...(text === null ? {} : { body: text }) })
  const lines = (await answer.text()).split('\n')
  return { status: answer.status, held: lines.filter(line => line.startsWith('svc_front_held_total{')).join() }
}

parentPort!.on('message', async (asked: Asked) => parentPort!.postMessage(await ask(asked)))
