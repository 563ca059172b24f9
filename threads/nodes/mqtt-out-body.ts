import type { Body } from '../../core/cascade/seat.ts'
import type { OutboxWriter } from '../../core/memory/outbox.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { TopicTemplate } from './topic-template.ts'

/** As it goes out: a text as it is, anything else as JSON. */
export const writePayload = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

export const outboxFlags = (qos: number, retain: boolean): number => qos | (retain ? 4 : 0)
export const qosOf = (flags: number): 0 | 1 | 2 => (flags & 3) as 0 | 1 | 2
export const isRetained = (flags: number): boolean => (flags & 4) !== 0

/** An mqtt-out node on its lane: the message is in the outbox when it ends. While that is full, it waits. */
export function mqttOutBody(settings: Readonly<Record<string, unknown>>, outbox: OutboxWriter): Body {
  const template = new TopicTemplate(settings['topic'] as string)
  const flags = outboxFlags((settings['qos'] as number | undefined) ?? 0, settings['retain'] === true)
  return (inputs, context) => {
    const rendered = template.render(inputs as Record<string, unknown>)
    if ('fault' in rendered) throw new ServiceError('bad_topic', `The topic cannot be made: ${rendered.fault}.`)
    const payload = writePayload((inputs as { value: unknown }).value)
    if (outbox.push(rendered.topic, payload, flags) === 'pushed') return undefined
    if (!outbox.fits(rendered.topic, payload))
      throw new ServiceError(
        'too_large',
        `The message of ${Buffer.byteLength(payload)} bytes does not fit the queue of the node.`,
      )
    const { signal } = context as { signal: AbortSignal }
    return pushed(outbox, rendered.topic, payload, flags, signal)
  }
}

/** Waits until there is room. The outbox of a node that is gone, or of an engine that stops, has none any more: then the execution is ended. */
async function pushed(
  outbox: OutboxWriter,
  topic: string,
  payload: string,
  flags: number,
  signal: AbortSignal,
): Promise<void> {
  const { promise: ended, reject } = Promise.withResolvers<never>()
  // It may reject while nobody waits for room.
  ended.catch(() => {})
  const end = (): void => reject(signal.reason)
  signal.addEventListener('abort', end)
  try {
    do {
      signal.throwIfAborted()
      const room = outbox.waitForRoom(topic, payload)
      if (room !== null) await Promise.race([room, ended])
    } while (outbox.push(topic, payload, flags) !== 'pushed')
  } finally {
    signal.removeEventListener('abort', end)
  }
}
