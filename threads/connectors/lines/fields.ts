import type { Dtype } from '../../../protocol/values/dtype.ts'
import type { ServedPort } from '../connector.ts'

/** What a line says, by place of the output port (good until the next line is read); or why it says nothing that can be read. */
export type Read = readonly unknown[] | string | null

/** Reads one line after the other, from the bytes in which they came. Null: the line is passed over, such as an empty one or a header. */
export interface LineReader {
  read(block: Buffer, from: number, end: number): Read
}

/** A port, and the field that it gets. */
export interface FieldPort {
  /** Among the output ports of its node. */
  readonly place: number
  readonly field: string
  readonly dtype: Dtype
}

export const fieldPorts = (ports: readonly ServedPort[], fields: Readonly<Record<string, string>>): FieldPort[] =>
  ports.map(({ name, dtype }, place) => ({ place, field: fields[name] ?? name, dtype }))

/** Room for a value a port. */
export const noValues = (ports: readonly FieldPort[]): unknown[] => new Array(ports.length).fill(undefined)

const TRUE = /^(true|t|1|yes|on)$/i
const FALSE = /^(false|f|0|no|off)$/i

/** A text as the dtype has it; undefined when it is none. */
export function fromText(text: string, dtype: Dtype): unknown {
  switch (dtype) {
    case 'str':
      return text
    case 'json': {
      const number = text.trim() === '' ? Number.NaN : Number(text)
      return Number.isFinite(number) ? number : text
    }
    case 'bool':
      return TRUE.test(text) ? true : FALSE.test(text) ? false : undefined
    default: {
      const number = text.trim() === '' ? Number.NaN : Number(text)
      return Number.isFinite(number) && (dtype === 'float' || Number.isSafeInteger(number)) ? number : undefined
    }
  }
}
