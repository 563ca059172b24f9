import { jsonSteps } from '../../core/json-text.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { Admission, Admissions } from '../auth/gatekeeper.ts'
import { type Caller, mayCall, toldTo, whyNot } from '../auth/principal.ts'
import type { Log } from '../observe/serve-log.ts'
import type { FrontWatch } from '../watch/front-watch.ts'
import { inSlices } from '../watch/slices.ts'
import { AnswerStream, type StreamChannel } from './answer-stream.ts'

import { inPieces } from './long-answer.ts'
import { type Refusal, refusalOf } from './problem.ts'
import { bytesOf, writeAnswer, writeRefusal } from './respond.ts'
import type { Answer, StreamContent } from './route.ts'
import type { ServedRoute } from './served-route.ts'
import { type Tap, Upload } from './upload.ts'

/** What an exchange needs of the socket library's response, besides writing to it. */
export interface Channel extends StreamChannel, Tap {
  onAborted(handler: () => void): unknown
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): unknown
}

/** Bytes of request bodies that are kept until the body is complete, over all exchanges of a front. */
export interface BodyBudget {
  bytes: number
  /** The share of routes with `raw`. */
  raw_bytes: number
  /** Uploads under way. */
  uploads: number
}

export interface ExchangeServices {
  readonly admissions: Admissions<Caller>
  readonly log: Log
  readonly watch: FrontWatch
  readonly budget: BodyBudget
}

/** What the front read off a request; the library's request object is gone after the first turn. */
export interface Opening {
  readonly served: ServedRoute
  readonly method: string
  readonly path: string
  readonly host: string
  readonly query: string
  readonly params: Record<string, string>
  readonly token: string | null
  readonly by_cookie: boolean
  readonly address: string
  readonly is_https: boolean
  readonly content_type: string
  readonly content_length: number
  readonly has_body: boolean
  /** The body comes in chunks: see `Exchange`. */
  readonly chunked: boolean
  readonly headers: Readonly<Record<string, string>>
}

/** The body of a request that has none. */
const NO_BODY = new Uint8Array(0)

/**
 * One request and its answer. The caller's permission is checked first, then path and query; then the body is read and the route's
 * handler runs:
 *
 *   opened -> admitted -> (body complete) -> handled -> answered
 *
 * The handler of an upload runs as soon as the caller is admitted, and reads the body as it comes. A streamed answer keeps the
 * exchange open until its last byte is taken.
 *
 * The library passes over what may stand between and behind chunks (bytes after the data of a chunk, trailers, line ends without
 * a carriage return), so after a chunked body nobody can say where the next request begins. Such a request is handled a turn of
 * the event loop after its last chunk, and its connection is closed with the answer: bytes that came along behind it are no
 * request, and when they look like one the library ends the connection before anything is handled.
 *
 * `#channel` is null from the moment the exchange is answered or aborted; nothing touches the library's response after that.
 * Each callback that the library calls ends in a `try`, so none of them throws into it and none leaves a request hanging.
 */
export class Exchange {
  readonly #services: ExchangeServices
  readonly #opening: Opening
  #channel: Channel | null
  /** True inside a callback of the library, whose writes are corked already. */
  #corked = true
  #principal: Caller | null = null
  #admitted = false
  #query: unknown = null
  #chunks: Buffer[] = []
  #received = 0
  /** The whole body, once it is there. */
  #body: Uint8Array | null = null
  #upload: Upload | null = null
  #is_uploading = false
  #stream: AnswerStream | null = null
  /** For a route that is told when the client goes away. */
  #gone: AbortController | null = null
  #handled = false
  /** Ends the wait for a raw body. */
  #deadline: NodeJS.Timeout | null = null

  constructor(services: ExchangeServices, opening: Opening, channel: Channel) {
    this.#services = services
    this.#opening = opening
    this.#channel = channel
  }

  /** Called in the library's handler. When it returns, the exchange is answered or registered for an abort. */
  start(): void {
    this.#measured(() => this.#open())
    this.#corked = false
  }

  /** Runs a step of the request: answers with the refusal that it throws, and reports its time to the watch over this thread. */
  #measured(work: () => void): void {
    this.#services.watch.run(this.#opening.served, () => {
      try {
        work()
      } catch (error) {
        this.#refuse(error)
      }
    })
  }

  #open(): void {
    const { served, token, has_body } = this.#opening
    const { scope } = served.route
    if (scope === 'open') this.#admit(null)
    else if (token === null) throw new ServiceError('unauthenticated')
    else {
      const known = this.#services.admissions.known(token)
      if (known !== null) this.#admit(known.principal)
      else
        this.#later(this.#services.admissions.admit(token), (admission: Admission<Caller>) =>
          this.#admit(admission.principal),
        )
    }
    if (this.#channel === null) return
    if (this.#opening.content_length > served.body_limit) throw this.#tooLarge()
    if (served.route.upload) this.#openUpload(this.#channel)
    else if (!has_body || (served.route.body === null && !served.route.raw)) this.#body = NO_BODY
    else this.#receive(this.#channel)
    this.#proceed()
    if (this.#channel !== null) this.#hearAbort(this.#channel)
  }

  #admit(principal: Caller | null): void {
    const { served, params, query } = this.#opening
    const { scope, object } = served.route
    if (!mayCall(scope, object !== null, principal)) throw new ServiceError('forbidden', whyNot(scope, principal))
    served.checkParams(params)
    this.#query = served.route.raw ? null : served.readQuery(query)
    if (this.#opening.chunked && served.route.body === null && !served.route.upload && !served.route.raw)
      throw new ServiceError('malformed_request', 'This route takes no body.')
    this.#principal = principal
    this.#admitted = true
  }

  #receive(channel: Channel): void {
    if (this.#opening.served.route.raw) {
      const late = (): void => this.#refuse(new ServiceError('upload_incomplete', 'The body took too long.'))
      this.#deadline = setTimeout(late, limits.HOOK_RECEIVE_MS)
      this.#deadline.unref()
    }
    channel.onData((chunk, isLast) => {
      if (this.#channel === null) return
      this.#corked = true
      this.#measured(() => this.#take(chunk, isLast))
      this.#corked = false
    })
  }

  /** The library drops bytes that nobody reads, so the upload is opened before the caller is admitted. */
  #openUpload(channel: Channel): void {
    const { has_body, content_length, served } = this.#opening
    const { budget } = this.#services
    if (budget.uploads >= limits.UPLOADS_AT_ONCE)
      throw new ServiceError('too_many_connections', 'Too many uploads are in progress.', { retry_after_s: 5 })
    budget.uploads++
    this.#is_uploading = true
    const length = !has_body ? 0 : content_length < 0 ? null : content_length
    const upload = new Upload(channel, length, served.body_limit)
    this.#upload = upload
    this.#body = NO_BODY
    if (!has_body) return
    channel.onData((chunk, isLast) => {
      if (this.#channel === null) return
      this.#corked = true
      this.#measured(() => upload.take(chunk, isLast))
      this.#corked = false
    })
  }

  /** The library takes its chunk back when this returns, so what is kept is copied; a body in one piece is parsed in place. */
  #take(chunk: ArrayBuffer, isLast: boolean): void {
    this.#received += chunk.byteLength
    if (this.#received > this.#opening.served.body_limit) throw this.#tooLarge()
    const whole = isLast && this.#chunks.length === 0 && !this.#opening.chunked
    const { raw } = this.#opening.served.route
    if (isLast) this.#forgetDeadline()
    if (whole && this.#admitted && !raw) {
      this.#body = new Uint8Array(chunk)
      this.#proceed()
      return
    }
    const { budget } = this.#services
    budget.bytes += chunk.byteLength
    if (raw) budget.raw_bytes += chunk.byteLength
    this.#chunks.push(Buffer.from(Buffer.from(chunk)))
    if (budget.bytes > limits.BODIES_BYTES || (raw && budget.raw_bytes > limits.HOOK_BODIES_BYTES))
      throw new ServiceError('too_many_connections', 'Too much is being uploaded at once.', { retry_after_s: 5 })
    if (!isLast) return
    if (this.#opening.chunked) {
      setImmediate(() => this.#complete())
      return
    }
    this.#complete()
  }

  #complete(): void {
    if (this.#channel === null) return
    this.#body = Buffer.concat(this.#chunks)
    try {
      this.#proceed()
    } catch (error) {
      this.#refuse(error)
    }
  }

  /** Runs the handler when the caller is admitted and the body is complete; each of the two ends here. */
  #proceed(): void {
    if (!this.#admitted || this.#body === null || this.#handled || this.#channel === null) return
    this.#handled = true
    const { served, content_type } = this.#opening
    const bytes = this.#body
    if (served.route.raw) return this.#handle(bytes)
    if (served.route.body === null) return this.#handle(undefined)
    if (bytes.length <= limits.BODY_AT_ONCE_BYTES) return this.#handle(served.readBody(bytes, content_type))
    // The library takes its memory back when this returns.
    const own = this.#chunks.length > 0 ? bytes : Buffer.from(Buffer.from(bytes))
    this.#later(served.readLargeBody(own, content_type), body => this.#handle(body))
  }

  #handle(body: unknown): void {
    const { served, params, address, path, query, content_type, headers, token, by_cookie, host, is_https } =
      this.#opening
    const { route } = served
    this.#forgetBody()
    this.#body = NO_BODY
    const caller = this.#principal
    if (caller?.kind === 'panel' && !route.object!(caller.reach, { params, query: this.#query, body } as never))
      throw new ServiceError('forbidden', whyNot(route.scope, caller))
    if (route.gone) this.#gone = new AbortController()
    const answer = route.handle({
      params,
      query: this.#query,
      body,
      caller,
      address,
      token: route.token ? (token ?? '') : '',
      by_cookie,
      host,
      is_https,
      path,
      gone: this.#gone?.signal ?? null,
      content_type,
      headers,
      query_text: route.raw ? query : '',
      upload: this.#upload,
      head_only: this.#isHead,
    } as never)
    if (!(answer instanceof Promise)) return this.#answer(answer)
    served.pending++
    const over = (): void => {
      served.pending--
    }
    answer.then(over, over)
    this.#later(answer, (late: Answer) => this.#answer(late))
  }

  #later<Value>(promise: Promise<Value>, then: (value: Value) => void): void {
    promise
      .then(value => {
        if (this.#channel === null) return
        this.#measured(() => {
          then(value)
          this.#proceed()
        })
      })
      .catch(error => this.#refuse(error))
  }

  #hearAbort(channel: Channel): void {
    channel.onAborted(() => {
      this.#channel = null
      this.#upload?.abort()
      this.#closeUpload()
      this.#stream?.abort()
      this.#gone?.abort()
      this.#forgetBody()
    })
  }

  #answer(answer: Answer): void {
    if (answer.stream) return this.#answerStream(answer, answer.stream)
    if (answer.long) return this.#later(inSlices(jsonSteps(answer.body)), pieces => this.#answerPieces(answer, pieces))
    this.#answerBytes(answer, bytesOf(answer))
  }

  #answerBytes(answer: Answer, bytes: string | Uint8Array | null): void {
    const head = this.#isHead
    const channel = this.#finish()
    if (channel === null) return
    this.#write(channel, () => writeAnswer(channel, answer, bytes, head, this.#opening.chunked))
  }

  /** More than one piece is written piece by piece, unless the connection is closed behind the answer. */
  #answerPieces(answer: Answer, pieces: readonly Uint8Array[]): void {
    if (pieces.length > 1 && !this.#opening.chunked) return this.#answerStream(answer, inPieces(pieces))
    this.#answerBytes(answer, pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces))
  }

  /** The channel stays ours until the stream is over, so that an abort reaches it. */
  #answerStream(answer: Answer, stream: StreamContent): void {
    const { log } = this.#services
    const { method, path } = this.#opening
    this.#closeUpload()
    this.#stream = new AnswerStream(this.#channel!, answer, stream, {
      over: () => this.#finish(),
      refused: error => this.#refuse(error),
      broken: error => {
        this.#finish()
        log.error('answer_broken_off', { method, path, error })
      },
    })
    this.#stream.run(this.#isHead).catch(error => log.error('stream_not_closed', { method, path, error }))
  }

  #refuse(error: unknown): void {
    const { method, path } = this.#opening
    if (this.#channel === null) return
    if (!(error instanceof ServiceError) || error.code === 'internal')
      this.#services.log.error('request_failed', { method, path, error })
    const refusal = this.#challenged(refusalOf(toldTo(this.#principal, error), path))
    const head = this.#isHead
    const cut = !this.#isDrained
    const channel = this.#finish()!
    this.#write(channel, () => writeRefusal(channel, refusal, head, cut))
  }

  /** Adds the address of `resource_metadata` to a 401 of a route that has one. */
  #challenged(refusal: Refusal): Refusal {
    const { resource_metadata } = this.#opening.served.route
    if (refusal.status !== 401 || resource_metadata === null) return refusal
    const scheme = refusal.headers['www-authenticate']!
    const comma = scheme === 'Bearer' ? '' : ','
    const named = `${scheme}${comma} resource_metadata="${resource_metadata(this.#opening.host)}"`
    return { ...refusal, headers: { ...refusal.headers, 'www-authenticate': named } }
  }

  /** Takes the channel. The exchange is over, and the caller writes the answer. */
  #finish(): Channel | null {
    const channel = this.#channel
    this.#closeUpload()
    this.#channel = null
    this.#forgetBody()
    return channel
  }

  /** Outside the library's callbacks a write is corked, so that it is one packet. */
  #write(channel: Channel, write: () => void): void {
    try {
      if (this.#corked) write()
      else channel.cork(write)
    } catch (error) {
      this.#services.log.error('answer_not_written', { path: this.#opening.path, error })
      try {
        channel.close()
      } catch {
        // It was answered already.
      }
    }
  }

  get #isHead(): boolean {
    return this.#opening.method === 'HEAD'
  }

  /** Whether the connection may be kept: when the rest of the body is known to be short, the library reads and drops it. */
  get #isDrained(): boolean {
    const { has_body, content_length, chunked } = this.#opening
    if (chunked) return false
    const isComplete = this.#upload === null ? this.#body !== null : this.#upload.isComplete
    return !has_body || isComplete || (content_length >= 0 && content_length <= limits.BODY_DRAIN_BYTES)
  }

  #forgetDeadline(): void {
    if (this.#deadline !== null) clearTimeout(this.#deadline)
    this.#deadline = null
  }

  #forgetBody(): void {
    this.#forgetDeadline()
    if (this.#chunks.length === 0) return
    const { budget } = this.#services
    const { raw } = this.#opening.served.route
    for (const { length } of this.#chunks) {
      budget.bytes -= length
      if (raw) budget.raw_bytes -= length
    }
    this.#chunks = []
  }

  /** Tells the reader, if there is still one, that no more bytes come. */
  #closeUpload(): void {
    if (!this.#is_uploading) return
    this.#is_uploading = false
    this.#services.budget.uploads--
    this.#upload?.fail(new ServiceError('upload_incomplete'))
  }

  #tooLarge(): ServiceError {
    return new ServiceError(
      'too_large',
      `The body is larger than the ${this.#opening.served.body_limit} bytes allowed here.`,
    )
  }
}
