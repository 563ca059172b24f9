import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { limits } from '../../../protocol/limits.ts'
import type { ConnectorHost, Lease, Shareable } from '../connector.ts'
import type { Reach } from '../reach.ts'
import { WebFailure } from './failure.ts'

export interface Asked {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
  /** Ends the request, and the reading of its answer. */
  readonly signal: AbortSignal
}

export interface Answered {
  readonly message: IncomingMessage
  readonly status: number
  /** Where it came from, after redirects. */
  readonly url: URL
}

const MOVED = new Set([301, 302, 303, 307, 308])
/** All that goes along to another origin: the others may be credentials. */
const HARMLESS = new Set(['accept', 'accept-language', 'content-type', 'user-agent'])

/**
 * Requests over HTTP, with the connections of one origin kept open between them. Node's own client rather than `fetch`, which hides the
 * socket: every address is looked at when a connection to it is made, those of redirects too.
 */
export class WebClient implements Shareable {
  readonly #reach: Reach
  readonly #http: HttpAgent
  readonly #https: HttpsAgent

  constructor(reach: Reach) {
    this.#reach = reach
    const options = {
      keepAlive: true,
      maxFreeSockets: limits.WEB_FREE_SOCKETS,
      // Of a connection that nobody uses. Servers close theirs after 5 s and longer; a request on one that was just closed is lost.
      timeout: limits.WEB_FREE_SOCKET_MS,
      lookup: reach.lookup,
    }
    this.#http = new HttpAgent(options)
    this.#https = new HttpsAgent(options)
  }

  /** Shared by all nodes that ask the same origin. */
  static of(host: ConnectorHost, url: URL): Lease<WebClient> {
    return host.share(`http ${url.origin}`, () => new WebClient(host.reach))
  }

  close(): void {
    this.#http.destroy()
    this.#https.destroy()
  }

  /** Follows at most `limits.WEB_REDIRECTS` redirects. The body of the answer is the caller's, to be read or destroyed. */
  async ask(asked: Asked): Promise<Answered> {
    for (let redirects = 0; ; redirects++) {
      const message = await this.#send(asked)
      const status = message.statusCode ?? 0
      const { location } = message.headers
      if (!MOVED.has(status) || location === undefined) return { message, status, url: asked.url }
      message.destroy()
      if (redirects >= limits.WEB_REDIRECTS) throw new WebFailure(`redirects more than ${limits.WEB_REDIRECTS} times`)
      asked = redirected(asked, status, location)
    }
  }

  #send({ method, url, headers, body, signal }: Asked): Promise<IncomingMessage> {
    this.#reach.assertHost(url.hostname)
    const isSecure = url.protocol === 'https:'
    const length = body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const options: RequestOptions = {
      method,
      headers: { accept: '*/*', 'accept-encoding': 'gzip, deflate, br', ...headers, ...length },
      agent: isSecure ? this.#https : this.#http,
      signal,
      maxHeaderSize: limits.HEADER_BYTES,
    }
    return new Promise((resolve, reject) => {
      const request = isSecure ? httpsRequest(url, options) : httpRequest(url, options)
      request.on('response', resolve)
      request.on('error', reject)
      request.end(body ?? undefined)
    })
  }
}

function redirected({ method, url, headers, body, signal }: Asked, status: number, location: string): Asked {
  const to = URL.canParse(location, url.href) ? new URL(location, url) : null
  if (to === null || (to.protocol !== 'http:' && to.protocol !== 'https:'))
    throw new WebFailure('redirects to what is not an http address')
  if (url.protocol === 'https:' && to.protocol === 'http:') throw new WebFailure('redirects from https to http')
  const isRead = method === 'GET' || method === 'HEAD'
  const becomesGet = status === 303 ? !isRead : status !== 307 && status !== 308 && method === 'POST'
  const kept = Object.entries(headers).filter(
    ([name]) =>
      (to.origin === url.origin || HARMLESS.has(name.toLowerCase())) &&
      !(becomesGet && name.toLowerCase() === 'content-type'),
  )
  return {
    method: becomesGet ? 'GET' : method,
    url: to,
    headers: Object.fromEntries(kept),
    body: becomesGet ? null : body,
    signal,
  }
}
