import { pointerKeys, valueAt } from '../json-pointer.ts'
import type { FieldPort, LineReader, Read } from './fields.ts'

/** One JSON object a line. A field that starts with `/` is a JSON Pointer (RFC 6901). */
export class JsonLinesReader implements LineReader {
  readonly #ports: readonly (FieldPort & { readonly way: readonly string[] })[]

  constructor(ports: readonly FieldPort[]) {
    this.#ports = ports.map(port => ({ ...port, way: wayOf(port.field) }))
  }

  read(line: string): Read {
    if (line.trim() === '') return null
    let object: unknown
    try {
      object = JSON.parse(line)
    } catch {
      return 'it is no JSON'
    }
    if (typeof object !== 'object' || object === null || Array.isArray(object)) return 'it is no object'
    const outputs: Record<string, unknown> = {}
    for (const { port, way } of this.#ports) {
      const value = valueAt(object, way)
      if (value !== undefined) outputs[port] = value
    }
    return outputs
  }
}

const wayOf = (field: string): string[] => (field.startsWith('/') ? pointerKeys(field) : [field])
