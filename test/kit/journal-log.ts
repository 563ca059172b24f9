/** A journal visitor that writes down what it sees, one plain line a record. */
import { isNumeric } from '../../core/memory/encoded.ts'
import type { JournalVisitor } from '../../core/memory/journal/journal.ts'

export class JournalLog implements JournalVisitor {
  readonly lines: string[] = []

  value(
    message: number,
    version: number,
    ts: number,
    flags: number,
    kind: number,
    number: number,
    bytes: Buffer,
    at: number,
    length: number,
  ): void {
    const payload = isNumeric(kind) ? number : summary(bytes, at, length)
    this.lines.push(`value ${message} ${version} ${ts} ${flags} ${kind} ${payload}`)
  }

  cascade(...fields: number[]): void {
    this.lines.push(`cascade ${fields.join(' ')}`)
  }

  blob(kind: number, subject: number, ts: number, bytes: Buffer, at: number, length: number): void {
    this.lines.push(`blob ${kind} ${subject} ${ts} ${summary(bytes, at, length)}`)
  }

  held(
    message: number,
    due_ms: number,
    ts: number,
    kind: number,
    number: number,
    bytes: Buffer,
    at: number,
    length: number,
  ): void {
    this.lines.push(`held ${message} ${due_ms} ${ts} ${kind} ${isNumeric(kind) ? number : summary(bytes, at, length)}`)
  }

  taken(flow: number, count: number): void {
    this.lines.push(`taken ${flow} ${count}`)
  }
}

/** Length and the one byte that all bytes are; a mixture is torn. */
export function summary(bytes: Buffer, at: number, length: number): string {
  for (let i = at; i < at + length; i++)
    if (bytes[i] !== bytes[at]) return `torn ${bytes.toString('hex', at, at + length)}`
  return `${length}x${length === 0 ? '' : bytes[at]}`
}
