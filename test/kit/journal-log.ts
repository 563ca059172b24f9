/** A journal visitor that writes down what it sees, one plain line a record. */
import { isNumeric } from '../../core/memory/encoded.ts'
import { JOURNAL, type JournalVisitor, type RecordView, VALUE_FLAG } from '../../core/memory/journal/journal.ts'

export class JournalLog implements JournalVisitor {
  readonly lines: string[] = []

  visit(record: RecordView): void {
    this.lines.push(lineOf(record))
  }
}

function lineOf(record: RecordView): string {
  const { subject, message, version, ts } = record
  switch (record.kind) {
    case JOURNAL.value:
      return `value ${subject} ${version} ${ts} ${record.flags} ${record.value_kind} ${payload(record)}${itemOf(record)}`
    case JOURNAL.held:
      return `held ${subject} ${record.due_ms} ${ts} ${record.value_kind} ${payload(record)}`
    case JOURNAL.scheduled:
      return `scheduled ${subject} ${record.entry} from ${record.first} ${record.due_ms} ${ts} ${record.value_kind} ${payload(record)}`
    case JOURNAL.released:
      return `released ${subject} ${record.first}`
    case JOURNAL.cascade: {
      const { seq, duration_us, status, executions, errors, parent_seq, parent_ts } = record
      const fields = [
        subject,
        message,
        version,
        seq,
        ts,
        duration_us,
        status,
        executions,
        errors,
        parent_seq,
        parent_ts,
      ]
      return `cascade ${fields.join(' ')}`
    }
    case JOURNAL.state:
    case JOURNAL.note:
      return `blob ${record.kind} ${subject} ${ts} ${summary(record.bytes, record.start, record.length)}`
    case JOURNAL.taken:
      return `taken ${subject} ${record.item}`
    case JOURNAL.queued:
      return `queued ${subject} ${message} ${version} ${record.item} ${record.depth} ${record.group} ${record.parent_seq} ${record.parent_epoch}`
    case JOURNAL.fresh:
      return `fresh ${subject} ${message} ${version} ${record.item} ${record.items}`
    default:
      throw new RangeError(`a record of kind ${record.kind}`)
  }
}

const itemOf = (record: RecordView): string =>
  (record.flags & VALUE_FLAG.queued) !== 0
    ? ` in ${record.flow} as ${record.item}${record.group === 0 ? '' : ` of ${record.group}`}`
    : record.root_ts === 0
      ? ''
      : ` from ${record.root_ts}`

const payload = (record: RecordView): number | string =>
  isNumeric(record.value_kind) ? record.number : summary(record.bytes, record.start, record.length)

/** Length and the one byte that all bytes are; a mixture is torn. */
export function summary(bytes: Buffer, at: number, length: number): string {
  for (let i = at; i < at + length; i++)
    if (bytes[i] !== bytes[at]) return `torn ${bytes.toString('hex', at, at + length)}`
  return `${length}x${length === 0 ? '' : bytes[at]}`
}
