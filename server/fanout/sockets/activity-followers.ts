import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { ActivityFrame, FlowActivity, NodeActivity } from '../../../protocol/socket/activity.ts'
import type { Socket } from '../../http/socket.ts'

export interface ActivitySource {
  engine(): Omit<ActivityFrame, 'flows' | 'nodes'>
  flows(): Iterable<FlowActivity>
  line(flow: string): number[]
  readonly hasNewLines: boolean
  hasFlow(flow: string): boolean
  nodes(flow: string): NodeActivity[]
}

interface Follower {
  /** The flow whose nodes are wanted, too. */
  nodes_of: string | null
  /** All flows are due, and not only those that have changed. */
  isDue: boolean
}

/** What is known of a flow, as text: the same text is the same figures. */
interface Told {
  figures: string
  line: string
}

/**
 * Figures of all flows to the sockets that follow them, once a second: all of them at first, then those that have changed. A socket with
 * much unread is left out, and gets all of them later: figures have no history that it could miss.
 */
export class ActivityFollowers {
  readonly #source: ActivitySource
  readonly #onDefect: (error: unknown) => void
  readonly #followers = new Map<Socket, Follower>()
  #told = new Map<string, Told>()
  #isTelling = false

  constructor(source: ActivitySource, onDefect: (error: unknown) => void) {
    this.#source = source
    this.#onDefect = onDefect
  }

  /** The first figures come with the next look. Also those of all flows when the one of whose nodes they are wanted has gone. */
  follow(socket: Socket, nodes_of: string | null): void {
    const isThere = nodes_of === null || this.#source.hasFlow(nodes_of)
    const follower = this.#followers.get(socket) ?? { nodes_of: null, isDue: true }
    follower.nodes_of = isThere ? nodes_of : null
    this.#followers.set(socket, follower)
    if (!isThere) throw new ServiceError('flow_not_found', `There is no flow ${nodes_of}.`)
  }

  unfollow(socket: Socket): void {
    this.#followers.delete(socket)
  }

  /** There are new figures. */
  looked(): void {
    if (this.#followers.size === 0) this.#told.clear()
    else if (!this.#isTelling) this.#tell().catch(this.#onDefect)
  }

  /** Pauses between parts, so that many flows do not hold the thread. */
  async #tell(): Promise<void> {
    this.#isTelling = true
    try {
      const head = JSON.stringify(this.#source.engine()).slice(0, -1)
      const due = [...this.#followers].filter(([socket]) => socket.bufferedAmount() <= limits.SOCKET_SLOW_BYTES)
      for (const [socket, follower] of this.#followers)
        if (socket.bufferedAmount() > limits.SOCKET_SLOW_BYTES) follower.isDue = true
      const before = this.#told
      this.#told = new Map()
      const withLines = this.#source.hasNewLines
      const part = { all: [] as string[], changed: [] as string[], flows: 0 }
      let isFirst = true
      const send = (): void => {
        for (const [socket, { isDue }] of due) {
          const texts = isDue ? part.all : part.changed
          if (isFirst || texts.length > 0) socket.send(`${head},"flows":[${texts.join(',')}]}`)
        }
        isFirst = false
        part.all = []
        part.changed = []
      }
      for (const flow of this.#source.flows()) {
        const known = before.get(flow.flow)
        const isNew = withLines || known === undefined
        const told = {
          figures: JSON.stringify(flow).slice(0, -1),
          line: isNew ? JSON.stringify(this.#source.line(flow.flow)) : known.line,
        }
        this.#told.set(flow.flow, told)
        const text = `${told.figures},"last_minute":${told.line}}`
        part.all.push(text)
        if (told.line !== known?.line) part.changed.push(text)
        else if (told.figures !== known?.figures) part.changed.push(`${told.figures}}`)
        if (++part.flows % limits.ACTIVITY_FLOWS === 0) {
          send()
          await new Promise(setImmediate)
        }
      }
      send()
      const nodes = new Map<string, string>()
      for (const [socket, follower] of due) {
        follower.isDue = false
        const { nodes_of } = follower
        if (nodes_of === null || !this.#source.hasFlow(nodes_of)) continue
        const known = nodes.get(nodes_of)
        const items = known ?? JSON.stringify({ flow: nodes_of, items: this.#source.nodes(nodes_of) })
        nodes.set(nodes_of, items)
        socket.send(`${head},"flows":[],"nodes":${items}}`)
        // Of each flow once, however many follow it.
        if (known === undefined) await new Promise(setImmediate)
      }
    } finally {
      this.#isTelling = false
    }
  }
}
