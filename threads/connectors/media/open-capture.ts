import type { ArtifactReference } from '../../../protocol/values/dtype.ts'
import { mediaSource } from '../../nodes/media-source.ts'
import type { CameraSettings } from '../../nodes/types/camera.ts'
import type { ConnectorHost, OpenConnector } from '../connector.ts'
import { Capture, type Recipe } from './capture.ts'
import { MediaInput } from './input.ts'
import type { Kept } from './kept.ts'
import { Newest } from './newest.ts'

/** What a camera or a microphone makes of its input. */
export interface Captured<Item> {
  readonly medium: 'video' | 'audio'
  /** What its ffmpeg depends on besides the input. */
  readonly choice: readonly unknown[]
  recipe(input: MediaInput): Recipe<Item>
  kept(item: Item): Kept
  outputs(item: Item, reference: ArtifactReference): Readonly<Record<string, unknown>>
}

/** Publishes each item as it comes. Nodes with the same settings share one ffmpeg. */
export function openCapture<Item>(
  settings: Pick<CameraSettings, 'source' | 'loop' | 'user' | 'password'>,
  host: ConnectorHost,
  { medium, choice, recipe, kept, outputs }: Captured<Item>,
): OpenConnector {
  const source = mediaSource(settings.source, medium)
  if (typeof source === 'string') {
    host.down(source)
    return { close() {} }
  }
  const input = new MediaInput(source, settings, settings.loop ?? true, host)
  const key = `${medium} ${JSON.stringify([input.key, ...choice])}`
  const lease = host.share(key, () => new Capture(recipe(input), host))
  const newest = new Newest(host)
  const listener = {
    item: (item: Item) => kept(item).publish(host, reference => newest.publish(outputs(item, reference))),
    ok: () => host.ok(),
    down: (reason: string) => host.down(reason),
  }
  lease.thing.join(listener)
  return {
    async close() {
      newest.close()
      const left = lease.thing.leave(listener)
      lease.release()
      await left
    },
  }
}
