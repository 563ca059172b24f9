import type { Timing } from '../../core/flow/timing.ts'
import type { NormalNode } from '../../protocol/nouns/flow-document.ts'
import type { DelaySettings } from './types/delay.ts'
import type { TriggerSettings } from './types/trigger.ts'

/** When a node publishes its values; null: at once. Its settings were checked. */
export function timingOf({ type, settings }: Pick<NormalNode, 'type' | 'settings'>): Timing | null {
  if (type === 'delay') {
    const { seconds } = settings as DelaySettings
    return { kind: 'delay', wait_s: seconds, passthrough: false, wait_port: null }
  }
  if (type !== 'trigger') return null
  const { mode = 'debounce', seconds = 0, passthrough = false, wait_port = null } = settings as TriggerSettings
  return { kind: mode, wait_s: seconds, passthrough, wait_port }
}
