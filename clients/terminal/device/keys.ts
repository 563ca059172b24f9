/** What a terminal sends, as keys. */

export type Key =
  | { readonly type: 'text'; readonly text: string }
  /** Put in as a whole: none of it is a command. */
  | { readonly type: 'paste'; readonly text: string }
  | { readonly type: 'key'; readonly name: KeyName }

export type KeyName =
  | 'up'
  | 'down'
  | 'left'
  | 'right'
  | 'home'
  | 'end'
  | 'page-up'
  | 'page-down'
  | 'enter'
  | 'escape'
  | 'tab'
  | 'back-tab'
  | 'backspace'
  | 'delete'
  | 'ctrl-c'
  | 'ctrl-d'
  | 'ctrl-l'
  | 'ctrl-u'
  | 'ctrl-w'
  | 'ctrl-z'

const CONTROLS: Readonly<Record<string, KeyName>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\x7f': 'backspace',
  '\b': 'backspace',
  '\x03': 'ctrl-c',
  '\x04': 'ctrl-d',
  '\x0c': 'ctrl-l',
  '\x15': 'ctrl-u',
  '\x17': 'ctrl-w',
  '\x1a': 'ctrl-z',
}

/** What follows ESC [ or ESC O, without modifiers. */
const SEQUENCES: Readonly<Record<string, KeyName>> = {
  ...{ A: 'up', B: 'down', C: 'right', D: 'left', H: 'home', F: 'end', Z: 'back-tab' },
  ...{ '1~': 'home', '7~': 'home', '4~': 'end', '8~': 'end', '3~': 'delete', '5~': 'page-up', '6~': 'page-down' },
}

const PASTE_BEGIN = '\x1b[200~'
const PASTE_END = '\x1b[201~'
/** ESC alone is the key, unless more follows within this time. */
const ESCAPE_MS = 50
/** More of one sequence, or of a paste, is thrown away. */
const SEQUENCE_MOST = 64
const PASTE_MOST = 4_096
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what a terminal sends
const SEQUENCE = /^\x1b(?:\[[0-?]*[ -/]*[@-~]|O[0-9;]*[ -~])/

/** Decodes what a terminal sends: sequences and characters may be split over several reads. */
export class KeyDecoder {
  readonly #onKey: (key: Key) => void
  readonly #characters = new TextDecoder()
  #rest = ''
  #paste: string | null = null
  #waiting: NodeJS.Timeout | null = null

  constructor(onKey: (key: Key) => void) {
    this.#onKey = onKey
  }

  read(bytes: Uint8Array): void {
    if (this.#waiting !== null) clearTimeout(this.#waiting)
    this.#waiting = null
    this.#rest += this.#characters.decode(bytes, { stream: true })
    while (this.#rest !== '' && this.#next());
    if (this.#rest.startsWith('\x1b') && this.#paste === null)
      this.#waiting = setTimeout(() => this.#escape(), ESCAPE_MS).unref()
  }

  /** Takes one key off the rest. False: it is not whole yet. */
  #next(): boolean {
    const text = this.#rest
    if (this.#paste !== null) return this.#inPaste()
    if (text.startsWith(PASTE_BEGIN)) {
      this.#rest = text.slice(PASTE_BEGIN.length)
      this.#paste = ''
      return true
    }
    if (text.startsWith('\x1b')) return this.#sequence(text)
    const known = CONTROLS[text[0]!]
    if (known !== undefined) {
      this.#rest = text.slice(1)
      this.#onKey({ type: 'key', name: known })
      return true
    }
    const character = String.fromCodePoint(text.codePointAt(0)!)
    this.#rest = text.slice(character.length)
    if (!/^\p{Cc}$/u.test(character)) this.#onKey({ type: 'text', text: character })
    return true
  }

  #sequence(text: string): boolean {
    const [found] = SEQUENCE.exec(text) ?? []
    if (found !== undefined) {
      this.#rest = text.slice(found.length)
      // A modifier (ESC [ 1 ; 5 A) changes nothing here.
      const name =
        SEQUENCES[
          found
            .slice(2)
            .replace(/^1?;\d+(?=[A-Z])/, '')
            .replace(/;\d+~$/, '~')
        ]
      if (name !== undefined) this.#onKey({ type: 'key', name })
      return true
    }
    if (text === '\x1b' || text[1] === '[' || text[1] === 'O') {
      if (text.length <= SEQUENCE_MOST) return false
      this.#rest = ''
      return false
    }
    // ESC and something else: the key, and then that.
    this.#rest = text.slice(1)
    this.#onKey({ type: 'key', name: 'escape' })
    return true
  }

  #inPaste(): boolean {
    const end = this.#rest.indexOf(PASTE_END)
    // The end itself may be split.
    const taken = end >= 0 ? end : Math.max(0, this.#rest.length - PASTE_END.length)
    this.#paste = (this.#paste! + this.#rest.slice(0, taken)).slice(0, PASTE_MOST)
    this.#rest = this.#rest.slice(end >= 0 ? end + PASTE_END.length : taken)
    if (end < 0) return false
    const text = this.#paste
    this.#paste = null
    this.#onKey({ type: 'paste', text })
    return true
  }

  /** Nothing followed. */
  #escape(): void {
    this.#waiting = null
    this.#rest = ''
    this.#onKey({ type: 'key', name: 'escape' })
  }
}
