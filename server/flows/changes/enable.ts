import type { EventType } from '../../../protocol/nouns/event.ts'
import type { SavedFlow } from '../../../protocol/nouns/flow.ts'
import type { Store } from '../../store/front/client.ts'
import type { Catalog } from '../catalog.ts'
import { written } from '../flow.ts'
import type { Show } from '../show.ts'
import type { Deploy } from './deploy.ts'

export interface EnableParts {
  store: Pick<Store, 'setEnabled'>
  catalog: Catalog
  deploy: Deploy
  show: Show
  announce(type: EventType, flow: string, more?: Record<string, unknown>): void
}

/** Lets a flow run, or stops it; its values and state stay. One that is so already makes no commit. */
export async function enable(parts: EnableParts, name: string, enabled: boolean, author: string): Promise<SavedFlow> {
  const flow = parts.catalog.existing(name)
  if (flow.enabled !== enabled) {
    const commit = await parts.store.setEnabled({ name, enabled, author })
    flow.enabled = enabled
    flow.updated_by = author
    written(flow, commit)
    await parts.deploy.deploy(flow, enabled)
    parts.announce(enabled ? 'flow_enabled' : 'flow_disabled', name, { by: author })
  }
  const kept = flow.document.nodes.map(node => node.id)
  return { name, version: flow.version, commit: flow.commit, restarted: [], kept, issues: parts.show.issues(flow) }
}
