import { isLongJson, jsonSteps } from '../../core/json-text.ts'
import { limits } from '../../protocol/limits.ts'
import { inSlices } from '../watch/slices.ts'

/** What stands around the items of a list, and what says that it was cut. */
const FRAME_BYTES = 1_024

/** Text as it is, everything else as JSON, cut at the bound: a model has no use for more, and a place for less. */
export async function textOf(result: unknown): Promise<string> {
  if (typeof result === 'string') return cut(Buffer.from(result))
  if (!isLongJson(result)) return cut(Buffer.from(JSON.stringify(result ?? null)))
  return cut(Buffer.concat(await inSlices(jsonSteps(result))))
}

function cut(bytes: Buffer): string {
  const most = limits.MCP_RESULT_BYTES
  if (bytes.length <= most) return bytes.toString()
  const kept = bytes.subarray(0, most - FRAME_BYTES).toString()
  return `${kept}\n[cut here: this is ${most - FRAME_BYTES} of ${bytes.length} bytes. Ask for less: a smaller limit, an offset, one node, or one message.]`
}

/** A value whose JSON is longer than that is shown by its beginning. */
export function shortened(value: unknown, most: number): unknown {
  if (typeof value === 'string' && value.length > most)
    return { cut: `${value.slice(0, most)}…`, characters: value.length }
  if (typeof value !== 'object' || value === null) return value
  const beginning = new Beginning(most)
  beginning.write(value)
  return beginning.isWhole ? value : { cut: `${beginning.text}…` }
}

/** The first characters of a JSON text. Of a long value no more is looked at: settings of 256 KiB take a millisecond to write. */
class Beginning {
  readonly #most: number
  text = ''

  constructor(most: number) {
    this.#most = most
  }

  get isWhole(): boolean {
    return this.text.length <= this.#most
  }

  write(value: unknown): void {
    if (typeof value === 'string') this.text += JSON.stringify(value.slice(0, this.#most + 1))
    else if (typeof value !== 'object' || value === null) this.text += JSON.stringify(value) ?? 'null'
    else if (Array.isArray(value)) this.#items('[', value, ']')
    else this.#members(value)
  }

  #items(open: string, items: readonly unknown[], close: string): void {
    this.text += open
    for (let at = 0; at < items.length && this.isWhole; at++) {
      if (at > 0) this.text += ','
      this.write(items[at])
    }
    this.text += close
  }

  #members(value: object): void {
    this.text += '{'
    let comma = ''
    for (const [name, member] of Object.entries(value)) {
      if (!this.isWhole) return
      this.text += `${comma}${JSON.stringify(name)}:`
      this.write(member)
      comma = ','
    }
    this.text += '}'
  }
}

export interface ListResult<Item> {
  readonly items: readonly Item[]
  /** Over all pages. */
  readonly count: number
  /** Where the next page begins; absent on the last one. */
  readonly next_offset?: number
  readonly note?: string
}

/** As many of the items as have room; `count` of them there are, and the first one given is number `offset`. */
export function listOf<Item>(items: Iterable<Item>, count: number, offset: number): ListResult<Item> {
  let left = limits.MCP_RESULT_BYTES - FRAME_BYTES
  const taken: Item[] = []
  for (const item of items) {
    left -= Buffer.byteLength(JSON.stringify(item)) + 1
    if (left < 0 && taken.length > 0) break
    taken.push(item)
  }
  const next_offset = offset + taken.length
  if (next_offset >= count) return { items: taken, count }
  return {
    items: taken,
    count,
    next_offset,
    note: `${taken.length} of ${count}: for more, ask with offset ${next_offset}`,
  }
}
