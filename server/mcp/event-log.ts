import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server'
import { limits } from '../../protocol/limits.ts'

interface Sent {
  readonly id: string
  readonly stream: string
  readonly message: JSONRPCMessage
  readonly bytes: number
}

/** The newest messages of a session, for a client whose stream broke off and that says which one it saw last. */
export class EventLog implements EventStore {
  #sent: Sent[] = []
  #bytes = 0
  #count = 0

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    const id = `${stream}_${this.#count++}`
    const bytes = weightOf(message)
    this.#sent.push({ id, stream, message, bytes })
    this.#bytes += bytes
    while (this.#sent.length > limits.MCP_SESSION_EVENTS || this.#bytes > limits.MCP_SESSION_EVENT_BYTES)
      this.#bytes -= this.#sent.shift()!.bytes
    return id
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#sent.find(sent => sent.id === id)?.stream
  }

  async replayEventsAfter(
    id: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const at = this.#sent.findIndex(sent => sent.id === id)
    const stream = id.slice(0, id.lastIndexOf('_'))
    const missed = this.#sent.slice(at + 1).filter(sent => sent.stream === stream && !isEmpty(sent.message))
    for (const sent of missed) await send(sent.id, sent.message)
    return stream
  }
}

/** What opens a stream: it carries an id and nothing else. */
const isEmpty = (message: object): boolean => Object.keys(message).length === 0

/** About how long its JSON is; making it costs more than the rest of keeping it. */
function weightOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 8
  let weight = 2
  for (const name in value) weight += name.length + 4 + weightOf((value as Record<string, unknown>)[name])
  return weight
}
