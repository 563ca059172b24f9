/**
 * Layout descriptors: the fields of a record in shared memory, their offsets derived in order, and a drawing of them.
 * No other file contains an offset as a number.
 */
export type FieldType = 'i32' | 'f64' | `bytes:${number}`
export type FieldRow<Name extends string> = readonly [name: Name, type: FieldType, meaning: string]

export interface Layout<Name extends string> {
  readonly name: string
  /** Bytes, a multiple of 8 (or of `align`). */
  readonly size: number
  /** Byte offset of each field within the record. */
  readonly offset: { readonly [field in Name]: number }
  /** Offset of an i32 field in 4-byte words; of an f64 field in 8-byte words. For `i32[(base >> 2) + word.x]`. */
  readonly word: { readonly [field in Name]: number }
  readonly fields: readonly { name: Name; type: FieldType; offset: number; bytes: number; meaning: string }[]
  /** The record as a table for people. */
  draw(): string
}

const width = (type: FieldType): number => (type === 'i32' ? 4 : type === 'f64' ? 8 : Number(type.slice(6)))

export function layout<const Name extends string>(
  name: string,
  rows: readonly FieldRow<Name>[],
  align = 8,
): Layout<Name> {
  const fields: { name: Name; type: FieldType; offset: number; bytes: number; meaning: string }[] = []
  const offset = {} as Record<Name, number>
  const word = {} as Record<Name, number>
  let at = 0
  for (const [field, type, meaning] of rows) {
    const bytes = width(type)
    const unit = type === 'i32' ? 4 : 8
    at = Math.ceil(at / unit) * unit
    offset[field] = at
    word[field] = at / unit
    fields.push({ name: field, type, offset: at, bytes, meaning })
    at += bytes
  }
  const size = Math.ceil(at / align) * align
  // Built by computed names, an object of more than a dozen is a hash table to V8; a copy is a plain one, whose fields fold into the code.
  return { name, size, offset: { ...offset }, word: { ...word }, fields, draw: () => draw(name, size, fields) }
}

function draw(
  name: string,
  size: number,
  fields: readonly { name: string; type: string; offset: number; bytes: number; meaning: string }[],
): string {
  const wide = Math.max(...fields.map(field => field.name.length))
  const line = `+${'-'.repeat(7)}+${'-'.repeat(7)}+${'-'.repeat(wide + 2)}+`
  const rows = fields.map(
    field =>
      `| ${String(field.offset).padStart(5)} | ${String(field.bytes).padStart(5)} | ${field.name.padEnd(wide)} | ${field.meaning}`,
  )
  return [
    `${name}, ${size} bytes`,
    line,
    `| ${'at'.padStart(5)} | ${'bytes'.padStart(5)} | ${'field'.padEnd(wide)} |`,
    line,
    ...rows,
    line,
  ].join('\n')
}
