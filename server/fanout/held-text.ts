/** A value that has passed the fan-out; its text waits for its media frame. */
export interface HeldText {
  readonly message: number
  readonly version: number
  readonly ts: number
  /** JSON. */
  readonly value: string
  /** Values of its message between it and the one that went out before. */
  readonly missed: number
}
