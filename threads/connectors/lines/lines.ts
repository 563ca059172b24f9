import { limits } from '../../../protocol/limits.ts'
import { type LinesAddress, linesAddress } from '../../nodes/lines-address.ts'
import type { LinesSettings } from '../../nodes/types/lines.ts'
import type { ConnectorHost, ConnectorRunner, ServedNode } from '../connector.ts'
import { CsvReader } from './csv.ts'
import { fieldPorts, type LineReader } from './fields.ts'
import { InfluxReader } from './influx.ts'
import { JsonLinesReader } from './json-lines.ts'
import { DatagramLines, FileLines, type Lines, type LinesTaker, StreamLines } from './listeners.ts'

const NEWLINE = 10
const RETURN = 13

/** Lines in, one cascade each. */
export const linesRunner: ConnectorRunner<LinesSettings> = {
  open(node, host) {
    const address = linesAddress(node.settings.listen)!
    const { from_start = false } = node.settings
    // Port 0 is whichever the system gives: no two nodes mean the same.
    const own = 'port' in address && address.port === 0 ? node.qualified : ''
    const lease = host.share(`lines ${address.key} ${from_start} ${own}`, () => opened(address, from_start, host))
    const taker = new NodeLines(node, host)
    lease.thing.add(taker)
    return {
      close() {
        lease.thing.takers.delete(taker)
        taker.closed = true
      },
    }
  },
}

function opened(address: LinesAddress, from_start: boolean, host: ConnectorHost): Lines {
  const random = (): number => host.random()
  const lines =
    address.kind === 'udp'
      ? new DatagramLines(address, random)
      : address.kind === 'file'
        ? new FileLines(address, from_start, random)
        : new StreamLines(address, random)
  lines.begin()
  return lines
}

/** What one node makes of the lines. */
class NodeLines implements LinesTaker {
  closed = false
  readonly #node: ServedNode<LinesSettings>
  readonly #host: ConnectorHost
  /** Of each sender: the first line of a CSV has the names of its columns. */
  readonly #readers = new WeakMap<object, LineReader>()
  /** What a sender waits for: its next lines come after it. */
  readonly #waiting = new WeakMap<object, Promise<void>>()

  constructor(node: ServedNode<LinesSettings>, host: ConnectorHost) {
    this.#node = node
    this.#host = host
  }

  take(block: Buffer, connection: object): Promise<void> | null {
    const reader = this.#readerOf(connection)
    const before = this.#waiting.get(connection)
    const left = before === undefined ? this.#publish(block, 0, reader) : 0
    if (left === -1) return null
    const later = this.#later(Buffer.from(block.subarray(left)), reader, before)
    this.#waiting.set(connection, later)
    return later.finally(() => {
      if (this.#waiting.get(connection) === later) this.#waiting.delete(connection)
    })
  }

  takeNow(block: Buffer, connection: object): void {
    const left = this.#publish(block, 0, this.#readerOf(connection))
    if (left !== -1) this.#host.dropped('flow_full', linesIn(block.subarray(left)))
  }

  lost(reason: string, count: number): void {
    this.#host.dropped(reason, count)
  }

  up(port: number | null): void {
    if (port !== null) this.#host.gauge('port', port)
    this.#host.ok()
  }

  down(reason: string): void {
    this.#host.down(reason)
  }

  async #later(block: Buffer, reader: LineReader, before: Promise<void> | undefined): Promise<void> {
    await before
    for (let at = 0; at !== -1; at = this.#publish(block, at, reader)) {
      await this.#host.whenRoom()
      if (this.closed) return
    }
  }

  /** Place of the first line for which there was no room; -1: all were taken. */
  #publish(block: Buffer, from: number, reader: LineReader): number {
    return this.#host.batch(() => this.#publishLines(block, from, reader))
  }

  #publishLines(block: Buffer, from: number, reader: LineReader): number {
    for (let at = from; at < block.length; ) {
      const newline = block.indexOf(NEWLINE, at)
      const end = newline > at && block[newline - 1] === RETURN ? newline - 1 : newline
      const read = reader.read(block, at, end)
      if (typeof read === 'string') {
        this.#host.failed('bad_line', `A line was refused: ${read}.`, {
          line: block.toString('utf8', at, end).slice(0, limits.BAD_LINE_CHARACTERS),
        })
        this.#host.dropped('bad_line', 1)
      } else if (read !== null) {
        const published = this.#host.publishPlaced(read)
        if (published === 'full') return at
        if (published === 'refused') this.#host.dropped('bad_line', 1)
      }
      at = newline + 1
    }
    return -1
  }

  #readerOf(connection: object): LineReader {
    let reader = this.#readers.get(connection)
    if (reader === undefined) this.#readers.set(connection, (reader = newReader(this.#node)))
    return reader
  }
}

function newReader({ settings, outputs }: ServedNode<LinesSettings>): LineReader {
  const { format, fields = {}, measurement = null, columns = null, delimiter = ',' } = settings
  const ports = fieldPorts(outputs, fields)
  if (format === 'influx') return new InfluxReader(ports, measurement)
  return format === 'csv' ? new CsvReader(ports, columns, delimiter) : new JsonLinesReader(ports)
}

function linesIn(block: Buffer): number {
  let count = 0
  for (let at = block.indexOf(NEWLINE); at !== -1; at = block.indexOf(NEWLINE, at + 1)) count++
  return count
}
