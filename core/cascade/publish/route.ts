/** Where a message goes. Flow indexes are engine-wide. */
export interface Route {
  readonly message: number
  /** The flow that the message belongs to. */
  readonly flow: number
  /** A node of that flow reads it. */
  readonly queued: boolean
  /** Other flows that read it, ascending. */
  readonly foreign: readonly number[]
  /** The flow itself and every flow that can be reached from it. */
  readonly downstream: readonly number[]
}
