import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { MASK_TABLE_BYTES } from '../../../core/masks/table.ts'
import { CallSlots } from '../../../server/calls/slots/call-slots.ts'
import { BODIES, callPlaceStories } from '../../conformance/call-places.ts'
import { CallPlacesDouble } from '../../kit/call-places-double.ts'
import { processPlaces } from '../../kit/process-places.ts'
import { directoryFor } from '../../kit/spawned.ts'

function folderOfBodies(t: TestContext): string {
  const folder = directoryFor(t)
  for (const [name, source] of Object.entries(BODIES)) writeFileSync(join(folder, `${name}.mjs`), source)
  return folder
}

callPlaceStories(
  'double',
  async (_, places) => ({ places: new CallPlacesDouble(places), close: async () => {} }),
  'thread_lost',
)

callPlaceStories(
  'slots',
  async (t, slots) => {
    const folder = folderOfBodies(t)
    const places = new CallSlots({
      slots,
      heap_mb: 256,
      begin_ms: 5_000,
      bodies: folder,
      artifacts: { folder, max_bytes: 0 },
      secret: () => null,
      masks: new SharedArrayBuffer(MASK_TABLE_BYTES),
    })
    return { places, close: () => places.close() }
  },
  'thread_lost',
)

callPlaceStories('processes', (t, most) => processPlaces(folderOfBodies(t), most), 'worker_lost')
