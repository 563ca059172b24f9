import type { EncodedValue } from '../../core/memory/encoded.ts'

/** A value on its way to the sockets. A record of the journal has this shape, so it is read in place; its bytes are only good during the call. */
export interface PassingValue {
  /** Index of its message. */
  readonly subject: number
  readonly version: number
  readonly ts: number
  /** KIND of the value. */
  readonly value_kind: number
  /** A number's; 0 of any other value. */
  readonly number: number
  /** Of any other value: `bytes[start .. start + length)`. */
  readonly bytes: Buffer
  readonly start: number
  readonly length: number
}

/** A value of a message that somebody waits for. */
export interface TracedValue extends PassingValue {
  /** When the value was published that its cascade began with; 0: it is of no cascade. */
  readonly root_ts: number
}

/** A value as the message table gives it. */
export interface NewestValue extends EncodedValue {
  version: number
  ts: number
}

/** What fan-out reads of the message table. */
export interface NewestValues {
  /** 0 while it has no value. */
  version(message: number): number
  /** Copies the newest value; false while there is none. */
  read(message: number, out: NewestValue): boolean
}
