/** What a node of type `delay` or `trigger` does with a value: when it is published. */
export interface Timing {
  /**
   * delay     each value, after its wait
   * debounce  the newest value, when none has come for the length of the wait
   * hold      the newest value, at the end of the wait that the first one began
   */
  readonly kind: 'delay' | 'debounce' | 'hold'
  readonly wait_s: number
  /** The value that begins a wait is published at once as well. */
  readonly passthrough: boolean
  /** Input port whose value is the wait, in seconds; null: `wait_s` is. */
  readonly wait_port: string | null
}
