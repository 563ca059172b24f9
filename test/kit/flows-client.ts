import { once } from 'node:events'
import { unpack } from 'msgpackr'
import { WebSocket } from 'ws'
import { SUBPROTOCOL } from '../../protocol/socket/frames.ts'

const PATIENCE_MS = 20_000

/** `{type: 'media_frame', bytes, …header}`, read as docs/sockets.md says. */
export function mediaFrameOf(data: Buffer): Record<string, unknown> {
  const end = 4 + data.readUInt32BE()
  return { type: 'media_frame', ...(unpack(data.subarray(4, end)) as object), bytes: Buffer.from(data.subarray(end)) }
}

/** A client of `/ws/flows` over a real connection. */
export class FlowsClient {
  readonly #socket: WebSocket
  readonly received: Record<string, unknown>[] = []
  closed: { code: number; reason: string } | null = null
  #ids = 0
  #wake: (() => void)[] = []

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', (data, isBinary) => {
      this.received.push(
        isBinary ? mediaFrameOf(data as Buffer) : (JSON.parse(String(data)) as Record<string, unknown>),
      )
      this.#stir()
    })
    socket.on('close', (code, reason) => {
      this.closed = { code, reason: String(reason) }
      this.#stir()
    })
    socket.on('error', () => {})
  }

  static async connect(port: number, token: string): Promise<FlowsClient> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/ws/flows`, [SUBPROTOCOL, `bearer.${token}`])
    const client = new FlowsClient(socket)
    await once(socket, 'open')
    return client
  }

  say(frame: unknown): void {
    this.#socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame))
  }

  /** Sends the frame and resolves with the answer to it. */
  async subscribe(what: { names?: string[]; flows?: string[]; events?: boolean }): Promise<Record<string, unknown>> {
    const before = this.frames('subscribed').length
    this.say({ type: 'subscribe', ...what })
    await this.until(() => this.frames('subscribed').length > before)
    return this.frames('subscribed')[before]!
  }

  async publish(name: string, value: unknown, how: { durable?: boolean } = {}): Promise<Record<string, unknown>> {
    const id = ++this.#ids
    this.say({ type: 'publish', id, name, value, ...how })
    const answer = (): Record<string, unknown> | undefined => this.received.find(frame => frame['id'] === id)
    await this.until(() => answer() !== undefined)
    return answer()!
  }

  /** Stops reading from the connection, as a client that hangs does. */
  stall(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  close(): void {
    this.#socket.terminate()
  }

  frames(type: string): Record<string, unknown>[] {
    return this.received.filter(frame => frame['type'] === type)
  }

  values(name: string): { version: number; value: unknown; missed: number }[] {
    return this.frames('message_value')
      .filter(frame => frame['name'] === name)
      .map(({ version, value, missed }) => ({
        version: version as number,
        value,
        missed: (missed as number | undefined) ?? 0,
      }))
  }

  /** Resolves once the condition holds; looked at after each frame. */
  async until(condition: () => boolean): Promise<void> {
    const end = Date.now() + PATIENCE_MS
    while (!condition()) {
      if (Date.now() > end) throw new RangeError(`not reached; last frames: ${JSON.stringify(this.received.slice(-3))}`)
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, 1_000)
        this.#wake.push(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
  }

  #stir(): void {
    for (const wake of this.#wake.splice(0)) wake()
  }
}
