/**
 * How everything that the engine packs is packed: maps as plain objects with the smallest header, so that other languages read them; integers
 * beyond 2^53 never appear; a key named toJSON is data.
 */
export const msgpackSettings = {
  useRecords: false,
  mapsAsObjects: true,
  variableMapSize: true,
  encodeUndefinedAsNil: true,
  int64AsType: 'auto' as 'number', // known to the library, not to its types
  useToJSON: false,
} as const
