/** What the SDK throws when a node or a flow is put together wrongly; its message names the node or flow, and what to write instead. */
export class SdkError extends Error {
  constructor(text: string) {
    super(text)
    this.name = 'SdkError'
  }
}
