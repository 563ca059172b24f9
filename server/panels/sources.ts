import type { IssueCode } from '../health/node-health.ts'

/** Why no good values come of a message, as a screen may know it: nothing else of the node, nor of others. */
export interface SourceTrouble {
  readonly code: IssueCode | 'message_not_found' | 'flow_disabled'
  /** RFC 3339; null: nobody knows. */
  readonly since: string | null
}

interface SourcesParts {
  readonly messages: { get(name: string): { readonly publisher: string | null; readonly enabled: boolean } | undefined }
  readonly health: { troubleOf(node: string): { readonly code: IssueCode; readonly since: string } | null }
}

/** Of the node that produces the message. An input of a flow has none, so nothing is wrong with it. */
export function troubleOfSource({ messages, health }: SourcesParts, name: string): SourceTrouble | null {
  const message = messages.get(name)
  if (message === undefined) return { code: 'message_not_found', since: null }
  if (!message.enabled) return { code: 'flow_disabled', since: null }
  return message.publisher === null ? null : health.troubleOf(message.publisher)
}
