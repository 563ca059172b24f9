import { largeJson } from '../../../core/large-json.ts'
import { inSlices } from '../../watch/slices.ts'

/** `largeJson` in slices of time. */
export const parseLargeJson = (bytes: Uint8Array, most_parts: number): Promise<unknown> =>
  inSlices(largeJson(bytes, most_parts))
