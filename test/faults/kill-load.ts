import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { SUBPROTOCOL } from '../../protocol/socket/frames.ts'
import type { Answer, RealEngine } from '../kit/real-engine.ts'
import { savedFlow } from './kill-flows.ts'

/** A publish that was answered 202 or acknowledged on the socket. Times in ms of `performance.now()`. */
export interface Accepted {
  readonly version: number
  readonly value: unknown
  readonly answered_ms: number
}

/** Everything that the engine acknowledged in one round. */
export class Acknowledged {
  readonly published = new Map<string, Accepted[]>()
  /** By message: accepted before a synced write was asked for that was answered, so on disk for certain. */
  certain: ReadonlyMap<string, number> = new Map()
  /** By flow, the newest. */
  readonly saves = new Map<string, { commit: string; number: number }>()
  readonly users: string[] = []
  /** The longest that a synced write took, from question to answer: what one commit takes on this machine, now. */
  commit_ms = 0
  count = 0

  add(message: string, version: number, value: unknown): void {
    let list = this.published.get(message)
    if (list === undefined) this.published.set(message, (list = []))
    list.push({ version, value, answered_ms: performance.now() })
    this.count++
  }

  newest(): Map<string, number> {
    return new Map([...this.published].map(([message, list]) => [message, Math.max(...list.map(one => one.version))]))
  }
}

/** Publishers over HTTP and sockets, saves of flows and of users, until the engine goes away. */
export class KillLoad {
  readonly acknowledged = new Acknowledged()
  /** Synced writes that were answered with a refusal: there is none to be had. */
  readonly refused: string[] = []
  readonly #engine: RealEngine
  readonly #round: number
  readonly #random: () => number
  #over = false
  readonly #running: Promise<void>[] = []
  #numbers = 0
  #certain_ms = 0

  constructor(engine: RealEngine, round: number, random: () => number) {
    this.#engine = engine
    this.#round = round
    this.#random = random
  }

  start(): void {
    this.#keep(() => this.#publish('count.x', this.#number()))
    this.#keep(() => this.#publish('count.x', this.#number()))
    this.#keep(() => this.#publish('slot.x', this.#number()))
    this.#keep(() => this.#publish('away.x', this.#number()))
    this.#keep(() => this.#publish('texts.t', { number: this.#number(), fill: 'é'.repeat(this.#random() * 12_000) }))
    this.#keep(() => this.#save())
    this.#keep(() => this.#user())
    this.#keep(() => this.#health())
    this.#running.push(this.#socket('chain.x'))
  }

  /** The engine is gone; what is still on its way fails. */
  async end(): Promise<void> {
    this.#over = true
    await Promise.all(this.#running)
  }

  #number(): number {
    return ++this.#numbers
  }

  #keep(step: () => Promise<void>): void {
    const run = async (): Promise<void> => {
      while (!this.#over) await step()
    }
    // A question without an answer: the engine was killed under it. Nothing was acknowledged.
    this.#running.push(run().catch(() => undefined))
  }

  async #publish(message: string, value: unknown): Promise<void> {
    const { status, json } = await this.#engine.ask('POST', `/messages/${message}`, { value })
    if (status === 202) this.acknowledged.add(message, json.version, value)
  }

  async #save(): Promise<void> {
    const number = this.#round * 10_000 + this.#number()
    const name = `saved${number % 3}`
    const { json } = await this.#synced('PUT', `/flows/${name}`, { document: savedFlow(number) })
    this.acknowledged.saves.set(name, { commit: json.commit, number })
  }

  async #user(): Promise<void> {
    const name = `user${this.#round}-${this.#number()}`
    await this.#synced('POST', '/users', { name, password: 'correct horse battery' })
    this.acknowledged.users.push(name)
    await pause(50)
  }

  async #health(): Promise<void> {
    await this.#synced('GET', '/utils/health/')
    await pause(40)
  }

  /** What is answered when it is on disk, and with it what was accepted before. */
  async #synced(method: string, path: string, body?: unknown): Promise<Answer> {
    const before = this.acknowledged.newest()
    const asked_ms = performance.now()
    const answer = await this.#engine.ask(method, path, body)
    if (answer.status !== 200 && answer.status !== 201) {
      this.refused.push(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.json)}`)
      throw new RangeError('no synced write')
    }
    if (asked_ms > this.#certain_ms) {
      this.#certain_ms = asked_ms
      this.acknowledged.certain = before
    }
    this.acknowledged.commit_ms = Math.max(this.acknowledged.commit_ms, performance.now() - asked_ms)
    return answer
  }

  /** Up to 64 publishes on their way at a time. */
  async #socket(message: string): Promise<void> {
    const socket = new WebSocket(`ws://127.0.0.1:${this.#engine.port}/ws/flows`, [
      SUBPROTOCOL,
      `bearer.${this.#engine.token}`,
    ])
    const values = new Map<number, number>()
    const say = (): void => {
      while (values.size < 64 && !this.#over && socket.readyState === WebSocket.OPEN) {
        const id = this.#number()
        values.set(id, id)
        socket.send(JSON.stringify({ type: 'publish', id, name: message, value: id }))
      }
    }
    socket.on('error', () => {})
    socket.on('open', say)
    socket.on('message', data => {
      const frame = JSON.parse(String(data)) as { type: string; id: number; version: number }
      if (frame.type === 'ack') this.acknowledged.add(message, frame.version, values.get(frame.id))
      values.delete(frame.id)
      // A refused publish (the flow is full) is tried again a little later.
      if (frame.type === 'ack') say()
      else setTimeout(say, 5)
    })
    // Not `once` of node:events, which rejects when the engine goes away with a reset.
    await new Promise(resolve => socket.on('close', resolve))
  }
}
