/** The owner of a promise whose rejection is a defect that the process cannot outlive: it is thrown where nobody catches it. */
export function fatal(error: unknown): void {
  setImmediate(() => {
    throw error
  })
}
