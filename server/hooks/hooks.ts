import type { Plan, PlanNode } from '../../core/flow/plan.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'
import { withSecrets } from '../../threads/nodes/secrets.ts'
import type { WebhookSettings } from '../../threads/nodes/types/webhook.ts'
import type { Artifacts } from '../artifacts/artifacts.ts'
import type { ValueWaits } from '../fanout/value-waits.ts'
import type { LiveFlow } from '../flows/flow.ts'
import type { LiveMessages } from '../flows/messages.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'
import { type Credentials, credentialsOf, isCredential, mayPass } from './credentials.ts'
import { bodyOf, type HookRequest, queryOf } from './request.ts'

/** `answer`: what a message of the flow answers; undefined: it was published, and nothing more is to be said. */
export interface HookAnswer {
  readonly answer: unknown
}

export interface Hooks {
  /**
   * Publishes what the request carries, in one cascade. Rejects with what is to be answered instead. `gone`: its client has left, and it
   * needs its place no longer.
   */
  take(request: HookRequest, gone?: AbortSignal | null): Promise<HookAnswer>
}

export interface LiveHooksParts {
  find(flow: string): LiveFlow | undefined
  readonly front: Pick<FrontMemory, 'counters' | 'messages' | 'clock'>
  readonly messages: Pick<LiveMessages, 'publishTogether' | 'assertRoom' | 'indexOf' | 'get'>
  readonly artifacts: Pick<Artifacts, 'put'>
  readonly waits: ValueWaits
  /** The journal is read at once, even if nobody follows values. */
  wake(): void
  /** The text of a secret. */
  secret(name: string): string
}

type HookAddress = Pick<HookRequest, 'flow' | 'node'>

/** A webhook node as a plan has it. */
interface Hook {
  readonly node: PlanNode
  readonly address: HookAddress
  readonly outputs: readonly { readonly port: string; readonly dtype: Dtype; readonly name: string }[]
  readonly settings: WebhookSettings
  readonly credentials: Credentials
}

/** Requests that a message is to answer: they have their turn one after the other. Who is in it calls the next one. */
type Line = Set<() => void>

/**
 * Webhook nodes, on the front thread: a request is admitted, checked, read and published like any other value.
 *
 *   found -> a place taken -> credentials -> its values -> published                               answered at once
 *                                                       -> its turn -> published -> the answer     with `answer`
 *
 * Nothing is queued without a bound: a node serves at most `limits.HOOK_PLACES` requests at once, all nodes together at most
 * `limits.HOOK_BODIES_BYTES` of bodies, and a full flow refuses.
 */
export class LiveHooks implements Hooks {
  readonly #parts: LiveHooksParts
  #plans = new WeakMap<Plan, ReadonlyMap<string, Hook>>()
  /** Requests that are being served, by node. */
  readonly #serving = new Map<string, number>()
  /** By message. */
  readonly #lines = new Map<string, Line>()
  #bytes = 0
  /** When the last request was published. No two are at once: by its time an answer finds its request. */
  #published_us = 0

  constructor(parts: LiveHooksParts) {
    this.#parts = parts
  }

  /** A secret has another value: settings are looked up again. */
  secretsChanged(): void {
    this.#plans = new WeakMap()
  }

  async take(request: HookRequest, gone: AbortSignal | null = null): Promise<HookAnswer> {
    const hook = this.#find(request)
    const { qualified } = hook.node
    const { length } = request.body
    const serving = this.#serving.get(qualified) ?? 0
    if (serving >= limits.HOOK_PLACES || this.#bytes + length > limits.HOOK_BODIES_BYTES) throw busy()
    this.#serving.set(qualified, serving + 1)
    this.#bytes += length
    try {
      return await orGone(this.#serve(hook, request, gone), gone)
    } catch (error) {
      throw withoutNames(error)
    } finally {
      this.#bytes -= length
      const left = this.#serving.get(qualified)! - 1
      if (left > 0) this.#serving.set(qualified, left)
      else this.#serving.delete(qualified)
    }
  }

  async #serve(hook: Hook, request: HookRequest, gone: AbortSignal | null): Promise<HookAnswer> {
    const until_ms = performance.now() + (hook.settings.timeout_s ?? 30) * 1000
    if (!(await mayPass(hook.credentials, request.headers, request.body))) throw new ServiceError('hook_refused')
    const { answer = null } = hook.settings
    const name = answer === null || answer.includes('.') ? answer : `${hook.address.flow}.${answer}`
    // Refused before anything is stored.
    this.#parts.messages.assertRoom(hook.outputs.map(output => output.name))
    if (name !== null) this.#parts.messages.indexOf(name)
    const items = await this.#items(hook, request)
    if (name !== null) return { answer: await this.#answered(hook, name, items, until_ms, gone) }
    this.#find(hook.address)
    this.#publish(hook, items)
    return { answer: undefined }
  }

  async #items({ outputs, credentials }: Hook, request: HookRequest): Promise<{ name: string; value: unknown }[]> {
    const items: { name: string; value: unknown }[] = []
    for (const { port, dtype, name } of outputs) {
      const value =
        port === 'body'
          ? await bodyOf(request, dtype, this.#parts.artifacts)
          : port === 'query'
            ? queryOf(request.query)
            : Object.fromEntries(Object.entries(request.headers).filter(([field]) => !isCredential(credentials, field)))
      items.push({ name, value })
    }
    return items
  }

  #nextTime(): number {
    return (this.#published_us = Math.max(this.#parts.front.clock.now_us(), this.#published_us + 1))
  }

  #publish({ node }: Hook, items: { name: string; value: unknown }[], ts = this.#nextTime()): void {
    this.#parts.messages.publishTogether(items, ts)
    this.#parts.front.counters.ran(node.index)
  }

  /**
   * Requests for the same answer go one after the other: the first value that the message gets after a request was published answers that
   * request, unless it comes of another cascade. Who publishes it from outside is not known: a delay, a broker, a person.
   */
  async #answered(
    hook: Hook,
    name: string,
    items: { name: string; value: unknown }[],
    until_ms: number,
    gone: AbortSignal | null,
  ): Promise<unknown> {
    await this.#turn(name, gone)
    try {
      return await this.#exchange(hook, name, items, until_ms)
    } finally {
      const line = this.#lines.get(name)!
      const [next] = line
      if (next === undefined) this.#lines.delete(name)
      else {
        line.delete(next)
        next()
      }
    }
  }

  /** Resolves when it is its turn. A client that leaves before that leaves the line, and its request is not published. */
  #turn(name: string, gone: AbortSignal | null): Promise<void> | void {
    if (gone?.aborted) throw left()
    const line = this.#lines.get(name)
    if (line === undefined) {
      this.#lines.set(name, new Set())
      return
    }
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        gone?.removeEventListener('abort', leave)
        resolve()
      }
      const leave = (): void => {
        line.delete(begin)
        reject(left())
      }
      gone?.addEventListener('abort', leave)
      line.add(begin)
    })
  }

  async #exchange(
    hook: Hook,
    name: string,
    items: { name: string; value: unknown }[],
    until_ms: number,
  ): Promise<unknown> {
    const { messages, waits, front } = this.#parts
    const left_ms = until_ms - performance.now()
    if (left_ms <= 0)
      throw new ServiceError('hook_timeout', 'Requests before this one took all of its time; it was not published.')
    // It may have gone away, or have been disabled, while the request stood in line.
    this.#find(hook.address)
    const message = messages.indexOf(name)
    front.messages.trace(message)
    const ts = this.#nextTime()
    const next = waits.next(message, front.messages.version(message), ts, left_ms)
    this.#publish(hook, items, ts)
    this.#parts.wake()
    const awaited = await next
    if ('value' in awaited) return awaited.value
    // The journal may have lost it to an overload; the table has the newest.
    const newest = messages.get(name)
    if (newest.version > awaited.passed) return newest.value
    throw new ServiceError('hook_timeout', 'The request was published, and no answer came in time.')
  }

  /** Nobody outside learns why there is nothing. */
  #find({ flow, node }: HookAddress): Hook {
    const live = this.#parts.find(flow)
    const hook = live?.enabled === true ? this.#hooksOf(live.plan).get(node) : undefined
    if (hook === undefined) throw new ServiceError('hook_not_found')
    return hook
  }

  #hooksOf(plan: Plan): ReadonlyMap<string, Hook> {
    let hooks = this.#plans.get(plan)
    if (hooks === undefined) {
      hooks = new Map(
        plan.nodes
          .filter(({ type }) => type === 'webhook')
          .map(node => {
            const settings = withSecrets(node.settings, name => this.#parts.secret(name)) as WebhookSettings
            const outputs = node.outputs.map(({ port, dtype, message }) => ({
              port,
              dtype,
              name: plan.messages[message]!.name,
            }))
            const address = { flow: plan.flow, node: node.id }
            return [node.id, { node, address, outputs, settings, credentials: credentialsOf(settings) }]
          }),
      )
      this.#plans.set(plan, hooks)
    }
    return hooks
  }
}

/** What it has begun goes on: an answer that is on its way must not come to the next request. */
function orGone<Result>(work: Promise<Result>, gone: AbortSignal | null): Promise<Result> {
  if (gone === null) return work
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(left())
    gone.addEventListener('abort', leave)
    work.then(resolve, reject).finally(() => gone.removeEventListener('abort', leave))
  })
}

/** Nobody outside learns the name of a message: neither that of one that is missing, nor one like it. */
const withoutNames = (error: unknown): unknown =>
  error instanceof ServiceError && error.code === 'message_not_found'
    ? new ServiceError('message_not_found', 'What this webhook publishes or answers with does not exist now.')
    : error

/** Nobody is there to read it. */
const left = (): ServiceError => new ServiceError('interrupted', 'The client has left.')

const busy = (): ServiceError => new ServiceError('hook_busy', undefined, { retry_after_s: limits.BACKLOG_RETRY_S })
