import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { type IClientOptions, type IConnackPacket, MqttClient } from 'mqtt'
import { limits } from '../../../protocol/limits.ts'
import type { BrokerSettings } from '../../nodes/mqtt-settings.ts'
import { BackOff } from '../back-off.ts'
import type { ConnectorHost } from '../connector.ts'
import { brokerReason } from './failure.ts'
import { PacketStream, type PacketUser } from './packet-stream.ts'

/** Settings as they are where the node runs: secrets are texts. */
export type Broker = BrokerSettings & { readonly password?: string; readonly key?: string }

/** All that makes a difference between two connections. Holds credentials. */
export const linkKey = ({
  url,
  protocol,
  username,
  password,
  client_id,
  session_s,
  will,
  ca,
  cert,
  key,
  server_name,
}: Broker): string =>
  `mqtt ${JSON.stringify([url, protocol, username, password, client_id, session_s, will, ca, cert, key, server_name])}`

/** The other side has closed the connection: why that may be depends on how far it had come. */
const isClose = ({ code }: Error & { code?: unknown }): boolean => code === 'ECONNRESET' || code === 'EPIPE'

export interface LinkUser {
  /** A connection is being made; what it brings is told to the answer. */
  opening(stream: PacketStream): PacketUser
  /** The broker has taken the connection. */
  up(client: MqttClient, connack: IConnackPacket, stream: PacketStream): void
  /** Once after each `up`, and after each failed attempt. A sentence without its full stop. */
  down(reason: string): void
}

export interface LinkParts {
  readonly broker: Broker
  readonly client_id: string
  /** 0: never asks; the system's own keepalive finds a peer that is gone. For a connection that may be held. */
  readonly keepalive_s: number
  readonly user: LinkUser
  readonly host: Pick<ConnectorHost, 'reach' | 'random' | 'steadyMs'>
}

/**
 * One connection to a broker, made again whenever it is lost. Each attempt is a new client of the library: nothing is left of the one
 * before, neither its queues nor its subscriptions, which would come in another order than ours.
 *
 *   connecting --accepted--> up --lost--> waiting --after a pause--> connecting
 *              --refused--------------> waiting
 */
export class Link {
  readonly #parts: LinkParts
  readonly #back_off: BackOff
  #client: MqttClient | null = null
  #timer: NodeJS.Timeout | null = null
  #closed = false
  #short_lives = 0

  constructor(parts: LinkParts) {
    this.#parts = parts
    this.#back_off = new BackOff(() => parts.host.random())
  }

  open(): void {
    const { user, host, broker } = this.#parts
    let reason: string | null = null
    let up_at: number | null = null
    let over = false
    const failed = (error: Error): void => {
      if (!isClose(error)) reason ??= brokerReason(broker.url, error)
    }
    const options = this.#options()
    const stream = new PacketStream(
      this.#socket(failed),
      options.protocolVersion === 5,
      stream => user.opening(stream),
      failed,
    )
    const client = new MqttClient(() => stream, options)
    this.#client = client
    client.on('connect', connack => {
      up_at = host.steadyMs()
      if (!this.#closed) user.up(client, connack, stream)
    })
    client.on('error', failed)
    // Comes with every end, whoever ended it.
    client.on('close', () => {
      if (over) return
      over = true
      client.removeAllListeners('close')
      client.end(true)
      if (this.#closed) return
      const lived_ms = up_at === null ? null : host.steadyMs() - up_at
      if (lived_ms !== null && lived_ms >= limits.MQTT_STEADY_MS) {
        this.#back_off.succeeded()
        this.#short_lives = 0
      } else if (lived_ms !== null) this.#short_lives++
      const ms = this.#back_off.failed()
      user.down(reason ?? this.#closedReason(up_at !== null))
      this.#timer = setTimeout(() => this.open(), ms)
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    const client = this.#client
    if (client === null) return
    const { stream } = client
    if (!client.connected) {
      client.end(true)
      return
    }
    // A connection whose packets are held may not answer; a polite end takes a millisecond.
    await new Promise<void>(resolve => {
      const late = setTimeout(resolve, limits.MQTT_END_MS)
      client.end(false, () => {
        clearTimeout(late)
        resolve()
      })
    })
    stream.destroy()
  }

  #closedReason(wasUp: boolean): string {
    const { url } = this.#parts.broker
    const what = `${brokerReason.of(url)} closes the connection`
    if (!wasUp && url.startsWith('mqtts:'))
      return `${what} before it takes it; does it speak TLS on this port, or want a certificate (settings cert and key)?`
    if (this.#short_lives < limits.MQTT_SHORT_LIVES) return what
    return `${what} again and again, soon after it was made; is there another client with the id "${this.#parts.client_id}"?`
  }

  #options(): IClientOptions {
    const { broker, client_id, keepalive_s } = this.#parts
    const { protocol = '5', username, password, session_s = 0, will = null } = broker
    const is5 = protocol === '5'
    return {
      clientId: client_id,
      protocolVersion: is5 ? 5 : 4,
      clean: session_s === 0,
      keepalive: keepalive_s,
      connectTimeout: limits.MQTT_CONNECT_MS,
      reconnectPeriod: 0,
      resubscribe: false,
      queueQoSZero: false,
      ...(username == null ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      ...(will === null
        ? {}
        : {
            will: {
              topic: will.topic,
              payload: Buffer.from(will.payload),
              qos: will.qos ?? 0,
              retain: will.retain ?? false,
            },
          }),
      ...(is5
        ? {
            properties: {
              receiveMaximum: limits.MQTT_RECEIVE,
              ...(session_s === 0 ? {} : { sessionExpiryInterval: session_s }),
            },
          }
        : {}),
    }
  }

  #socket(failed: (error: Error) => void): Socket {
    const { broker, host } = this.#parts
    const { protocol, hostname, port } = new URL(broker.url)
    const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
    const isSecure = protocol === 'mqtts:'
    const to = { host: bare, port: Number(port) || (isSecure ? 8883 : 1883), lookup: host.reach.lookup }
    const { ca, cert, key, server_name } = broker
    const socket = isSecure
      ? connectTls({
          ...to,
          ...(server_name == null ? {} : { servername: server_name }),
          ...(ca == null ? {} : { ca }),
          ...(cert == null ? {} : { cert, key: key! }),
        })
      : connectTcp(to)
    socket.on('error', failed)
    socket.setNoDelay(true)
    socket.setKeepAlive(true, limits.MQTT_TCP_KEEPALIVE_MS)
    try {
      host.reach.assertHost(bare)
    } catch (error) {
      // Nothing has been sent yet: the connection begins after this turn.
      socket.destroy(error as Error)
    }
    return socket
  }
}
