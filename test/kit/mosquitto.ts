import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt'
import type { Certificate } from './certificates.ts'
import { eventually } from './live-engine.ts'

const PATHS = ['/usr/sbin/mosquitto', '/usr/local/sbin/mosquitto', '/usr/bin/mosquitto']
const executable = PATHS.find(path => existsSync(path))

/** For the options of a test that needs a broker: why it cannot run here, or false. */
export const skip = executable === undefined ? 'needs the broker Mosquitto: it is not installed' : false

export interface BrokerOptions {
  /** Only the user `plant` with that password may come. */
  password?: string
  /** It speaks TLS with this certificate. */
  tls?: Certificate
  /** Only who has a certificate of this authority may come: its path. */
  client_ca_path?: string
}

interface Ending {
  after(end: () => unknown): void
}

/** A broker of its own on this machine; it ends with the test. */
export class Mosquitto {
  readonly port: number
  /** The ids of the clients that have come, one for each connection. */
  readonly came: string[] = []
  /** The filters of the subscriptions that clients have made. */
  readonly #granted = new Set<string>()
  readonly #folder: string
  readonly #tls: Certificate | null
  #child: ChildProcess | null = null

  private constructor(port: number, folder: string, tls: Certificate | null) {
    this.port = port
    this.#folder = folder
    this.#tls = tls
  }

  static async start(t: Ending, { password, tls, client_ca_path }: BrokerOptions = {}): Promise<Mosquitto> {
    const folder = mkdtempSync(join(tmpdir(), 'mosquitto-'))
    const broker = new Mosquitto(await freePort(), folder, tls ?? null)
    const lines = [
      `listener ${broker.port} 127.0.0.1`,
      // Started by root it would become another user, who may not read this folder.
      `user ${userInfo().username}`,
      `allow_anonymous ${password === undefined}`,
      'persistence false',
      'log_dest stderr',
      'log_type notice',
      'log_type subscribe',
      'max_queued_messages 100000',
      'set_tcp_nodelay true',
    ]
    if (tls !== undefined) lines.push(`certfile ${tls.cert_path}`, `keyfile ${tls.key_path}`)
    if (client_ca_path !== undefined) lines.push(`cafile ${client_ca_path}`, 'require_certificate true')
    if (password !== undefined) {
      const file = join(folder, 'passwords')
      writeFileSync(file, `plant:${password}\n`, { mode: 0o600 })
      spawnSync('mosquitto_passwd', ['-U', file])
      lines.push(`password_file ${file}`)
    }
    writeFileSync(join(folder, 'mosquitto.conf'), `${lines.join('\n')}\n`)
    t.after(async () => {
      await broker.kill()
      rmSync(folder, { recursive: true, force: true })
    })
    await broker.begin()
    return broker
  }

  get url(): string {
    return `mqtt${this.#tls === null ? '' : 's'}://127.0.0.1:${this.port}`
  }

  /** Resolves when clients have subscribed to each of the filters. */
  granted(...filters: string[]): Promise<void> {
    return eventually(
      () => filters.every(filter => this.#granted.has(filter)),
      `subscriptions to ${filters.join(', ')}`,
    )
  }

  /** Starts it, or starts it again on its port; it answers then. */
  async begin(): Promise<void> {
    const child = spawn(executable!, ['-c', join(this.#folder, 'mosquitto.conf')], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      for (const [, id] of text.matchAll(/New client connected from \S+ as (\S+)/g)) this.came.push(id!)
      for (const [, filter] of text.matchAll(/: \S+ [012] (.+)$/gm)) this.#granted.add(filter!)
    })
    this.#child = child
    while (!(await answers(this.port))) {
      if (child.exitCode !== null) throw new RangeError(`mosquitto ended with ${child.exitCode}`)
      await sleep(10)
    }
  }

  async kill(): Promise<void> {
    const child = this.#child
    this.#child = null
    if (child === null || child.exitCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }

  /** It holds its connections, and does nothing until `resume`. */
  pause(): void {
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
  }

  /** A client of the test; it ends with the test. */
  async client(t: Ending, options: IClientOptions = {}): Promise<MqttClient> {
    const client = await mqtt.connectAsync(this.url, { protocolVersion: 5, reconnectPeriod: 100, ...options })
    client.on('error', () => {})
    t.after(() => client.end(true))
    return client
  }

  /** What is published to the filter, from now on, as `topic payload`. */
  async heard(t: Ending, filter: string, options: IClientOptions = {}): Promise<string[]> {
    const client = await this.client(t, options)
    const heard: string[] = []
    client.on('message', (topic, payload) => heard.push(`${topic} ${payload}`))
    await client.subscribeAsync(filter, { qos: 2 })
    return heard
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}

function answers(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    const end = (is: boolean) => () => {
      socket.destroy()
      resolve(is)
    }
    socket.once('connect', end(true)).once('error', end(false))
  })
}
