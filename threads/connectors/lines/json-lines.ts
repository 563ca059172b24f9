import { pointerKeys, valueAt } from '../json-pointer.ts'
import { type FieldPort, type LineReader, noValues, type Read } from './fields.ts'

/** One JSON object a line. A field that starts with `/` is a JSON Pointer (RFC 6901). */
export class JsonLinesReader implements LineReader {
  readonly #ports: readonly (FieldPort & { readonly way: readonly string[] })[]

  constructor(ports: readonly FieldPort[]) {
    this.#ports = ports.map(port => ({ ...port, way: wayOf(port.field) }))
  }

  read(block: Buffer, from: number, end: number): Read {
    const line = block.toString('utf8', from, end)
    if (line.trim() === '') return null
    let object: unknown
    try {
      object = JSON.parse(line)
    } catch {
      return 'it is no JSON'
    }
    if (typeof object !== 'object' || object === null || Array.isArray(object)) return 'it is no object'
    const values = noValues(this.#ports)
    for (const { place, way } of this.#ports) values[place] = valueAt(object, way)
    return values
  }
}

const wayOf = (field: string): string[] => (field.startsWith('/') ? pointerKeys(field) : [field])
