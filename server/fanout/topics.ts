import { ValueText } from './value-text.ts'

/** Names and indexes of the messages that exist now. */
export interface MessageDirectory {
  /** -1 when no message has this name. */
  indexOf(name: string): number
  nameOf(message: number): string
  /** Null when no flow has this name. */
  messagesOf(flow: string): readonly number[] | null
  /** Its values are references to images, sound, video or artifacts. */
  isMedia(message: number): boolean
}

/** What is the same for every value of a message: its topic, its name, and the part of its events between time and version. */
export class Topics {
  readonly #directory: MessageDirectory
  readonly #topics: string[] = []
  readonly #media: string[] = []
  /** Of messages that were followed since they got their name. */
  readonly #names: (string | undefined)[] = []
  readonly #middles: (string | undefined)[] = []

  constructor(directory: MessageDirectory) {
    this.#directory = directory
  }

  topic(message: number): string {
    return (this.#topics[message] ??= `m${message}`)
  }

  /** Of its frames. */
  media(message: number): string {
    return (this.#media[message] ??= `v${message}`)
  }

  middle(message: number): string {
    return (this.#middles[message] ??= ValueText.middle(this.#names[message] ?? this.#directory.nameOf(message)))
  }

  /** The message is followed: its name is known until `forget`, also when the message is gone. */
  keepName(message: number): void {
    this.#names[message] ??= this.#directory.nameOf(message)
  }

  name(message: number): string | undefined {
    return this.#names[message]
  }

  /** The index may come back under another name. */
  forget(message: number): void {
    this.#names[message] = this.#middles[message] = undefined
  }
}
