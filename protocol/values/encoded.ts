/**
 * A value on its way through shared memory: a kind and its payload. Numbers and booleans travel as a double in `number`;
 * everything else as `bytes[0..length)`. Each thread reuses one such object as scratch; nobody keeps it past the call.
 */
export const KIND = { none: 0, null: 1, float: 2, int: 3, bool: 4, str: 5, json: 6 } as const
export type Kind = (typeof KIND)[keyof typeof KIND]

export interface EncodedValue {
  kind: Kind
  /** The value of float, int and bool (0 or 1). */
  number: number
  /** The payload of str (UTF-8) and json (msgpack, also artifact references). */
  bytes: Buffer
  /** Payload bytes: 8 for float, int and bool, 0 for null. */
  length: number
}

export const isNumeric = (kind: number): boolean => kind === KIND.float || kind === KIND.int || kind === KIND.bool
