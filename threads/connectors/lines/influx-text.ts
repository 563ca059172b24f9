import { type FieldPort, fromText, noValues, type Read } from './fields.ts'

const [SPACE, COMMA, EQUALS, QUOTE, BACKSLASH] = [32, 44, 61, 34, 92]
/** `2.5e-3`, `17i`, `17u` */
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/
const INTEGER = /^[+-]?\d+[iu]$/
const ESCAPED = /\\([,= "\\])/g

/** Reads every line of line protocol, or says in words why it can not be read. `InfluxReader` takes most lines before they come here. */
export class InfluxText {
  readonly #all: readonly FieldPort[]
  readonly #measurement: string | null
  readonly #ports = new Map<string, FieldPort[]>()
  /** Those of `@measurement` and `@time`. */
  readonly #told: FieldPort[] = []

  constructor(ports: readonly FieldPort[], measurement: string | null) {
    this.#all = ports
    this.#measurement = measurement
    for (const port of ports) {
      if (port.field.startsWith('@')) this.#told.push(port)
      else this.#ports.set(port.field, [...(this.#ports.get(port.field) ?? []), port])
    }
  }

  read(line: string): Read {
    if (line === '' || line.charCodeAt(0) === 35) return null
    const values = noValues(this.#all)
    let at = endOf(line, 0, COMMA, SPACE)
    const measurement = plain(line.slice(0, at))
    if (measurement === '') return 'it has no measurement'
    if (this.#measurement !== null && measurement !== this.#measurement) return null
    while (line.charCodeAt(at) === COMMA) {
      const equals = endOf(line, at + 1, EQUALS, SPACE)
      if (line.charCodeAt(equals) !== EQUALS) return 'a tag has no value'
      const end = endOf(line, equals + 1, COMMA, SPACE)
      const refused = this.#tag(line.slice(at + 1, equals), line.slice(equals + 1, end), values)
      if (refused !== null) return refused
      at = end
    }
    if (at >= line.length) return 'it has no fields'
    let any = false
    do {
      const equals = endOf(line, at + 1, EQUALS, SPACE)
      if (line.charCodeAt(equals) !== EQUALS) return 'a field has no value'
      const end =
        line.charCodeAt(equals + 1) === QUOTE ? afterQuote(line, equals + 2) : endOf(line, equals + 1, COMMA, SPACE)
      if (end < 0) return 'a text is not closed'
      const refused = this.#field(line.slice(at + 1, equals), line.slice(equals + 1, end), values)
      if (refused !== null) return refused
      any = true
      at = end
    } while (line.charCodeAt(at) === COMMA)
    if (!any) return 'it has no fields'
    const time = at < line.length ? line.slice(at + 1).trim() : ''
    if (time !== '' && !/^-?\d+$/.test(time)) return `"${time.slice(0, 40)}" is no timestamp`
    for (const { place, field } of this.#told) {
      if (field === '@measurement') values[place] = measurement
      else if (field === '@time' && time !== '') values[place] = Number(BigInt(time) / 1000n)
    }
    return values
  }

  #tag(name: string, text: string, values: unknown[]): string | null {
    const ports = this.#ports.get(plain(name))
    if (ports === undefined) return null
    for (const { place, dtype } of ports) {
      const value = fromText(plain(text), dtype)
      if (value === undefined) return `tag "${name}" is no ${dtype}`
      values[place] = value
    }
    return null
  }

  #field(name: string, text: string, values: unknown[]): string | null {
    const ports = this.#ports.get(plain(name))
    if (ports === undefined) return null
    const value = fieldValue(text)
    if (value === undefined) return `field "${name}" has no value of line protocol`
    for (const { place, dtype } of ports) {
      const fits = dtype === 'json' || typeOf[dtype] === typeof value
      if (fits) values[place] = value
      else if (dtype === 'str') values[place] = String(value)
      else return `field "${name}" is no ${dtype}`
    }
    return null
  }
}

const typeOf: Readonly<Record<string, string>> = { float: 'number', int: 'number', bool: 'boolean', str: 'string' }

const plain = (text: string): string => (text.includes('\\') ? text.replace(ESCAPED, '$1') : text)

function fieldValue(text: string): unknown {
  if (text.charCodeAt(0) === QUOTE) return text.slice(1, -1).replace(/\\(["\\])/g, '$1')
  if (NUMBER.test(text)) return Number(text)
  if (INTEGER.test(text)) return Number(text.slice(0, -1))
  if (text === 't' || text === 'T' || text === 'true' || text === 'True' || text === 'TRUE') return true
  if (text === 'f' || text === 'F' || text === 'false' || text === 'False' || text === 'FALSE') return false
  return undefined
}

/** Place of the first of the two that is not escaped, or the end. */
function endOf(line: string, from: number, one: number, other: number): number {
  for (let at = from; at < line.length; at++) {
    const code = line.charCodeAt(at)
    if (code === BACKSLASH) at++
    else if (code === one || code === other) return at
  }
  return line.length
}

/** Behind the quote that closes the text; -1: none does. */
function afterQuote(line: string, from: number): number {
  for (let at = from; at < line.length; at++) {
    const code = line.charCodeAt(at)
    if (code === BACKSLASH) at++
    else if (code === QUOTE) return at + 1
  }
  return -1
}
