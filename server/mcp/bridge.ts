import type { Answer } from '../http/route.ts'

/** A request of the front, as far as the protocol needs it. The body has been read and parsed by then. */
export interface AskedRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly host: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

/** As the package takes it; without the body, which goes along parsed. */
export const webRequest = ({ method, host, path, headers }: AskedRequest, signal: AbortSignal): Request =>
  new Request(`http://${host}${path}`, { method, headers: withoutBody(headers), signal })

const withoutBody = ({ 'content-length': _length, ...headers }: Readonly<Record<string, string>>) => headers

const EVENTS = 'text/event-stream'
/** The front writes these itself. */
const OWN = new Set(['content-type', 'content-length', 'connection', 'transfer-encoding', 'date'])
/** A comment: the head of an answer goes out with its first bytes, and who opens a stream with GET waits for it. */
const OPENED = Buffer.from(': open\n\n')

/** What an answer with events is held by: `end` ends it, and `over` is called when it has ended for whatever reason. */
export interface OpenStream {
  end(): void
}

/** `opened` is called with each stream of events, and answers what to call when it has ended. */
export async function answerOf(
  response: Response,
  method: AskedRequest['method'],
  opened: (stream: OpenStream) => () => void,
): Promise<Answer> {
  const { status, body } = response
  const headers: Record<string, string> = {}
  for (const [name, value] of response.headers) if (!OWN.has(name)) headers[name] = value
  if (body === null) return { status, headers }
  const type = response.headers.get('content-type') ?? 'application/json'
  if (!type.startsWith(EVENTS)) return { status, headers, content: { type, bytes: await response.text() } }
  const reader = body.getReader()
  const over = opened({ end: () => void reader.cancel().catch(() => {}) })
  return { status, headers, stream: { type, length: null, chunks: chunksOf(reader, method === 'GET', over) } }
}

async function* chunksOf(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  isSilent: boolean,
  over: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    if (isSilent) yield OPENED
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    over()
    await reader.cancel().catch(() => {})
  }
}
