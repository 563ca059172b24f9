import { type FieldPort, fromText, type LineReader, noValues, type Read } from './fields.ts'
import { InfluxText } from './influx-text.ts'

const [SPACE, HASH, PLUS, COMMA, MINUS, DOT, ZERO, EQUALS, QUOTE, BACKSLASH] = [32, 35, 43, 44, 45, 46, 48, 61, 34, 92]
const [SIGNED, UNSIGNED] = [105, 117]
/** Integers of so many digits are exact as doubles, and so are these powers: their quotient is the double nearest to the decimal. */
const EXACT_DIGITS = 15
const POWERS = Array.from({ length: EXACT_DIGITS + 1 }, (_, power) => 10 ** power)

/** A name of a tag or a field, and the ports that ask for it. */
interface Asked {
  readonly bytes: Uint8Array
  readonly ports: readonly FieldPort[]
}

/**
 * InfluxDB line protocol:
 *
 *   measurement,tag=value,tag=value field=value,field=value timestamp
 *
 * Source: https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/. The timestamp is in nanoseconds.
 *
 * A line of plain names and decimal numbers, as sensors send them, is read from its bytes, and none of its names becomes a string. Every other
 * line, and every one that is broken, is read as text (`InfluxText`), which has the last word: a test holds the two to each other.
 */
export class InfluxReader implements LineReader {
  readonly #text: InfluxText
  readonly #measurement: Uint8Array | null
  readonly #asked: readonly Asked[]
  /** Of `#asked`: most lines have their names in the order of the line before. */
  #next = 0
  /** Those of `@measurement` and `@time`. */
  readonly #told: readonly FieldPort[]
  readonly #values: unknown[]

  constructor(ports: readonly FieldPort[], measurement: string | null) {
    this.#text = new InfluxText(ports, measurement)
    this.#measurement = measurement === null ? null : Buffer.from(measurement)
    this.#values = noValues(ports)
    const told = (port: FieldPort): boolean => port.field.startsWith('@')
    this.#told = ports.filter(told)
    const by_name = Map.groupBy(
      ports.filter(port => !told(port)),
      ({ field }) => field,
    )
    this.#asked = [...by_name].map(([name, of]) => ({ bytes: Buffer.from(name), ports: of }))
  }

  read(block: Buffer, from: number, end: number): Read {
    return this.#scan(block, from, end) ? this.#values : this.#text.read(block.toString('utf8', from, end))
  }

  /** False: the line is to be read as text. */
  #scan(block: Buffer, from: number, end: number): boolean {
    const values = this.#values
    for (let place = 0; place < values.length; place++) values[place] = undefined
    let at = placeOf(COMMA, SPACE, block, from, end)
    if (at <= from || block[from] === HASH) return false
    const measurement_end = at
    if (this.#measurement !== null && !isName(this.#measurement, block, from, at)) return false
    while (block[at] === COMMA) {
      const equals = placeOf(EQUALS, SPACE, block, at + 1, end)
      if (equals < 0 || block[equals] !== EQUALS) return false
      const tag_end = placeOf(COMMA, SPACE, block, equals + 1, end)
      if (tag_end < 0) return false
      const ports = this.#portsOf(block, at + 1, equals)
      if (ports !== undefined && !this.#tag(block.toString('utf8', equals + 1, tag_end), ports)) return false
      at = tag_end
    }
    do {
      const equals = placeOf(EQUALS, SPACE, block, at + 1, end)
      if (equals < 0 || block[equals] !== EQUALS) return false
      const ports = this.#portsOf(block, at + 1, equals)
      at = ports === undefined ? passedOver(block, equals + 1, end) : this.#number(block, equals + 1, end, ports)
      if (at < 0) return false
    } while (at < end && block[at] === COMMA)
    if (!isTimestamp(block, at + 1, end)) return false
    for (let told = 0; told < this.#told.length; told++) {
      const { place, field } = this.#told[told]!
      if (field === '@measurement') values[place] = block.toString('utf8', from, measurement_end)
      else if (field === '@time' && at + 1 < end)
        values[place] = Number(BigInt(block.toString('latin1', at + 1, end)) / 1000n)
    }
    return true
  }

  #portsOf(block: Buffer, from: number, end: number): readonly FieldPort[] | undefined {
    const asked = this.#asked
    for (let tried = 0, at = this.#next; tried < asked.length; tried++, at++) {
      if (at >= asked.length) at = 0
      if (!isName(asked[at]!.bytes, block, from, end)) continue
      this.#next = at + 1
      return asked[at]!.ports
    }
    return undefined
  }

  #tag(text: string, ports: readonly FieldPort[]): boolean {
    for (const { place, dtype } of ports) {
      const value = fromText(text, dtype)
      if (value === undefined) return false
      this.#values[place] = value
    }
    return true
  }

  /** Reads the decimal number at `from` into the ports; answers where it ends, -1: it is none, or not exact this way, or not for all of the ports. */
  #number(block: Buffer, from: number, end: number, ports: readonly FieldPort[]): number {
    let at = from
    const sign = block[at]
    if (sign === MINUS || sign === PLUS) at++
    const digits_from = at
    let mantissa = 0
    let dot = -1
    for (; at < end; at++) {
      const digit = block[at]! - ZERO
      if (digit >= 0 && digit <= 9) mantissa = mantissa * 10 + digit
      else if (digit === DOT - ZERO && dot < 0) dot = at
      else break
    }
    const digits = at - digits_from - (dot < 0 ? 0 : 1)
    if (digits < 1 || digits > EXACT_DIGITS) return -1
    if (dot < 0) {
      if (at < end && (block[at] === SIGNED || block[at] === UNSIGNED)) at++
    } else mantissa /= POWERS[at - dot - 1]!
    if (at < end && block[at] !== COMMA && block[at] !== SPACE) return -1
    const value = sign === MINUS ? -mantissa : mantissa
    for (let port = 0; port < ports.length; port++) {
      const { place, dtype } = ports[port]!
      if (dtype !== 'float' && dtype !== 'int' && dtype !== 'json') return -1
      this.#values[place] = value
    }
    return at
  }
}

/** Where the first of the two bytes is; -1: nowhere, or something is escaped before it. */
function placeOf(one: number, other: number, block: Buffer, from: number, end: number): number {
  for (let at = from; at < end; at++) {
    const byte = block[at]
    if (byte === one || byte === other) return at
    if (byte === BACKSLASH) return -1
  }
  return -1
}

function isName(name: Uint8Array, block: Buffer, from: number, end: number): boolean {
  if (name.length !== end - from) return false
  for (let at = 0; at < name.length; at++) if (block[from + at] !== name[at]) return false
  return true
}

/** Behind a value that nobody asks for; -1: it is a text, or has something escaped. */
function passedOver(block: Buffer, from: number, end: number): number {
  if (block[from] === QUOTE) return -1
  for (let at = from; at < end; at++) {
    const byte = block[at]
    if (byte === COMMA || byte === SPACE) return at
    if (byte === BACKSLASH) return -1
  }
  return end
}

/** Digits up to the end of the line, or nothing. */
function isTimestamp(block: Buffer, from: number, end: number): boolean {
  if (from >= end) return true
  const digits = block[from] === MINUS ? from + 1 : from
  for (let at = digits; at < end; at++) if (block[at]! < ZERO || block[at]! > ZERO + 9) return false
  return digits < end
}
