import { limits } from '../../../protocol/limits.ts'
import { Budget, refuseUnlessJson } from '../../../protocol/values/json-like.ts'
import { nextCron } from '../../nodes/cron.ts'
import type { HttpPollSettings } from '../../nodes/types/http-poll.ts'
import { BackOff } from '../back-off.ts'
import type { ConnectorHost, ConnectorRunner, Lease, OpenConnector, ServedNode } from '../connector.ts'
import { pointerKeys, valueAt } from '../json-pointer.ts'
import { jsonOf, textOf, wholeBody } from './answer.ts'
import { WebClient } from './client.ts'
import { reasonOf, WebFailure } from './failure.ts'
import { addressOf } from './http.ts'

/** Asks again and again, one request at a time. It remembers only what it has published: the rest comes again with the next poll. */
export const httpPollRunner: ConnectorRunner<HttpPollSettings> = {
  open: (node, host) => new HttpPoll(node, host),
}

/** What has been published, and by what a server says that it is still the same. */
interface Known {
  readonly text: string
  readonly validators: Readonly<Record<string, string>>
}

/**
 *   polling --published, or nothing new--> well:   waits for its next time
 *   polling --no room in the flow------->          the same, and knows nothing of what it could not publish
 *   polling --anything else------------->  down:   waits 1 s, and longer each time, up to 60 s
 */
class HttpPoll implements OpenConnector {
  readonly #node: ServedNode<HttpPollSettings>
  readonly #host: ConnectorHost
  readonly #url: URL | null
  readonly #lease: Lease<WebClient> | null
  readonly #back_off: BackOff
  readonly #closed = new AbortController()
  readonly #began_ms: number
  readonly #budget = new Budget(limits.MESSAGE_VALUE_BYTES)
  #known: Known | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(node: ServedNode<HttpPollSettings>, host: ConnectorHost) {
    this.#node = node
    this.#host = host
    this.#url = addressOf(String(node.settings.url))
    this.#lease = this.#url === null ? null : WebClient.of(host, this.#url)
    this.#back_off = new BackOff(() => host.random())
    this.#began_ms = host.steadyMs()
    if (this.#url === null) host.down('its url is not an http address')
    else this.#go()
  }

  close(): void {
    this.#closed.abort()
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#lease?.release()
  }

  #go(): void {
    this.#poll()
      .catch(error => {
        if (this.#closed.signal.aborted) return 0
        this.#host.down(reasonOf(error, this.#url!.origin, this.#timeout_s).text)
        return this.#back_off.failed()
      })
      .then(wait_ms => this.#wait(wait_ms))
  }

  /** Resolves with the time to wait for the next poll. */
  async #poll(): Promise<number> {
    const ends = AbortSignal.timeout(this.#timeout_s * 1000)
    try {
      return await this.#ask(AbortSignal.any([this.#closed.signal, ends]))
    } catch (error) {
      throw ends.aborted ? ends.reason : error
    }
  }

  async #ask(signal: AbortSignal): Promise<number> {
    const { headers = {} } = this.#node.settings
    const asked = { ...this.#known?.validators, ...(headers as Record<string, string>) }
    const { message, status } = await this.#lease!.thing.ask({
      method: 'GET',
      url: this.#url!,
      headers: asked,
      body: null,
      signal,
    })
    if (status === 304 && this.#known !== null) {
      message.resume()
      return this.#well()
    }
    if (status < 200 || status > 299) {
      message.destroy()
      throw new WebFailure(`answers ${status}`)
    }
    const bytes = await wholeBody(message)
    const { pointer = '' } = this.#node.settings
    const isText = this.#node.outputs.find(({ name }) => name === 'body')?.dtype === 'str' && pointer === ''
    const body = isText ? textOf(message, bytes) : at(await jsonOf(message, bytes), pointer)
    // What no message can hold is refused below: it would take long to write.
    const text = refuseUnlessJson(body, this.#budget.reset()) === null ? JSON.stringify(body) : null
    if (text === null || text !== this.#known?.text) {
      const published = this.#host.publish({ body })
      // Forgotten, so that the next answer is a whole one and is published.
      if (published !== 'published') this.#known = null
      if (published === 'refused') throw new WebFailure('answers what does not fit the port; see the error of the node')
      if (published === 'full') return this.#next()
    }
    if (text !== null) this.#known = { text, validators: validatorsOf(message.headers) }
    return this.#well()
  }

  #well(): number {
    this.#back_off.succeeded()
    this.#host.ok()
    return this.#next()
  }

  /** Milliseconds until the next time that the node names: those that have passed meanwhile are left out. */
  #next(): number {
    const { every_s = null, cron = null } = this.#node.settings
    if (cron !== null) {
      const now_ms = this.#host.nowUs() / 1000
      return (nextCron(cron, this.#host.timezone, now_ms) ?? Number.POSITIVE_INFINITY) - now_ms
    }
    const every_ms = every_s! * 1000
    return every_ms - ((this.#host.steadyMs() - this.#began_ms) % every_ms)
  }

  /** A long time is waited for in parts: timers of Node end at 24 days, and the clock that cron goes by may be set meanwhile. */
  #wait(ms: number): void {
    if (this.#closed.signal.aborted) return
    if (ms > 2 * limits.POLL_WAIT_MS) this.#timer = setTimeout(() => this.#wait(this.#next()), limits.POLL_WAIT_MS)
    // A little late, so that nodes with the same time do not all come at once.
    else this.#timer = setTimeout(() => this.#go(), ms + this.#host.random() * Math.min(limits.POLL_JITTER_MS, ms / 10))
  }

  get #timeout_s(): number {
    return this.#node.settings.timeout_s ?? 30
  }
}

function validatorsOf(headers: {
  etag?: string | undefined
  'last-modified'?: string | undefined
}): Record<string, string> {
  const { etag, 'last-modified': modified } = headers
  if (etag !== undefined) return { 'if-none-match': etag }
  return modified === undefined ? {} : { 'if-modified-since': modified }
}

function at(value: unknown, pointer: string): unknown {
  const found = valueAt(value, pointerKeys(pointer))
  if (found === undefined) throw new WebFailure(`answers JSON that has nothing at ${pointer}`)
  return found
}
