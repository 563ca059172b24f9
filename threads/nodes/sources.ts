import type { Steps } from '../../core/steps.ts'
import { limits } from '../../protocol/limits.ts'
import type { NormalNode } from '../../protocol/nouns/flow-document.ts'
import { type CheckedSource, checkedSource, isChecked } from './code.ts'
import type { SourceThread } from './source-thread.ts'

const keyOf = (language: string, source: string): string => `${language}:${source}`

/**
 * The sources checked last, so that saving a large flow again costs only what changed in it. The oldest goes first; those of
 * the last `prepare` are there until the next one.
 */
export class Sources {
  readonly #thread: SourceThread
  readonly #kept = new Map<string, CheckedSource>()
  #prepared = new Map<string, CheckedSource>()
  #characters = 0

  constructor(thread: SourceThread) {
    this.#thread = thread
  }

  /** Checks the sources of these nodes in the thread, one a step: finding 8 MiB of them again takes 30 ms. Rejects with `check_late`. */
  *prepare(nodes: readonly NormalNode[]): Steps<void> {
    const prepared = new Map<string, CheckedSource>()
    for (const { type, language, source } of nodes) {
      if (type !== 'code' || source === null || !isChecked(language, source)) continue
      const key = keyOf(language, source)
      if (prepared.has(key)) continue
      const kept = this.#kept.get(key)
      if (kept !== undefined) prepared.set(key, kept)
      else
        yield this.#thread.check({ language, source }).then(checked => {
          prepared.set(key, this.#keep(key, checked))
        })
      yield
    }
    this.#prepared = prepared
  }

  /** Of a source that was not prepared: checked here, as one that was accepted before and whose body is gone. */
  readonly get = (language: 'ts' | 'js', source: string): CheckedSource => {
    const key = keyOf(language, source)
    return this.#prepared.get(key) ?? this.#kept.get(key) ?? this.#keep(key, checkedSource(language, source))
  }

  #keep(key: string, checked: CheckedSource): CheckedSource {
    this.#kept.set(key, checked)
    this.#characters += key.length
    for (const [oldest] of this.#kept) {
      if (this.#characters <= limits.CHECKED_BODIES_CHARACTERS) break
      this.#kept.delete(oldest)
      this.#characters -= oldest.length
    }
    return checked
  }
}
