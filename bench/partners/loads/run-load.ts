/**
 * The load of `runs`: so many connections that each create a run, wait for its acknowledgement, and create the next.
 *   pass(RunLoad) -> {seconds, acknowledged_seconds}     until the last run has ended, and until the last was acknowledged
 * It shares the machine with what it measures, so it speaks HTTP by hand: Node's client costs as much as half a run.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { answer } from '../../partner.ts'

export interface RunLoad {
  url: string
  token: string
  flow: string
  runs: number
  connections: number
}

const POLL_MS = { least: 2, most: 50 }

answer({
  async pass({ url, token, flow, runs, connections }: RunLoad) {
    const all = await Promise.all(Array.from({ length: connections }, () => Connection.open(url, token)))
    const polling = await Connection.open(url, token)
    const succeeded = async (): Promise<{ count: number; live: number }> => {
      const { text } = await polling.ask('GET', `/runs?flow=${flow}&status=succeeded&limit=1`)
      const { count, counts } = JSON.parse(text) as { count: number; counts: Record<string, { live: number }> }
      return { count, live: counts[flow]?.live ?? 0 }
    }
    const { count: before } = await succeeded()
    let next = 0
    const began_ms = performance.now()
    await Promise.all(
      all.map(async connection => {
        while (next < runs) {
          const { status, text } = await connection.ask('POST', `/runs/flows/${flow}`, `{"inputs":{"x":${next++}}}`)
          if (status !== 201) throw new RangeError(`a run was refused: ${text}`)
        }
      }),
    )
    const acknowledged_ms = performance.now()
    for (;;) {
      const { count, live } = await succeeded()
      if (count >= before + runs) break
      if (live === 0) throw new RangeError(`${before + runs - count} runs did not succeed`)
      // A look is work for the engine, so there are few: each after half of the time that the rest will take.
      const rate = (count - before) / (performance.now() - began_ms)
      await sleep(Math.min(POLL_MS.most, Math.max(POLL_MS.least, (before + runs - count) / rate / 2)))
    }
    const ended_ms = performance.now()
    for (const connection of [...all, polling]) connection.end()
    return { seconds: (ended_ms - began_ms) / 1000, acknowledged_seconds: (acknowledged_ms - began_ms) / 1000 }
  },
})

/** One request at a time over one socket. Answers have a length. */
class Connection {
  readonly #socket: Socket
  readonly #head: string
  #got = ''
  #answered: ((answer: { status: number; text: string }) => void) | null = null
  #failed: (error: Error) => void = () => {}

  private constructor(socket: Socket, head: string) {
    this.#socket = socket
    this.#head = head
    socket.setNoDelay().setEncoding('latin1')
    socket.on('data', text => this.#read(String(text)))
    socket.on('error', error => this.#failed(error))
    socket.on('close', () => this.#failed(new RangeError('the engine closed the connection')))
  }

  static async open(url: string, token: string): Promise<Connection> {
    const { hostname, port, host } = new URL(url)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    return new Connection(socket, `host: ${host}\r\nauthorization: Bearer ${token}\r\n`)
  }

  ask(method: string, path: string, body = ''): Promise<{ status: number; text: string }> {
    const length = body === '' ? '' : `content-length: ${body.length}\r\n`
    return new Promise((resolve, reject) => {
      this.#answered = resolve
      this.#failed = reject
      this.#socket.write(`${method} ${path} HTTP/1.1\r\n${this.#head}${length}\r\n${body}`)
    })
  }

  end(): void {
    this.#failed = () => {}
    this.#socket.destroy()
  }

  #read(text: string): void {
    this.#got += text
    const head = this.#got.indexOf('\r\n\r\n')
    if (head < 0) return
    const length = Number(/content-length: *(\d+)/i.exec(this.#got)?.[1])
    const end = head + 4 + length
    if (this.#got.length < end) return
    const answered = { status: Number(this.#got.slice(9, 12)), text: this.#got.slice(head + 4, end) }
    this.#got = this.#got.slice(end)
    this.#answered!(answered)
  }
}
