import assert from 'node:assert/strict'
import {
  closeOutbox,
  OUTBOX_HEADER,
  OutboxReader,
  type OutboxRecord,
  OutboxWriter,
} from '../../../../core/memory/outbox.ts'
import type { Memory } from '../../../../core/memory/region.ts'

/** Bytes of each record, and of a ring of two of them and the end of the ring: the third one needs padding. */
export const RECORD = 24
const RING = 64
const PAYLOAD = 7

const at = (memory: Memory, ring: number) =>
  [memory.sab, memory.regions.arena.offset, OUTBOX_HEADER.size + ring] as const

export const writerOf = (memory: Memory, ring = RING): OutboxWriter => new OutboxWriter(...at(memory, ring))
export const readerOf = (memory: Memory, ring = RING): OutboxReader => new OutboxReader(...at(memory, ring))
export const close = (memory: Memory): void => closeOutbox(...at(memory, RING))

/** How often the sleeper was woken whose count of wakes is in the word. */
export function wakesOf(memory: Memory, word: 'wakes' | 'room'): number {
  return memory.i32[(memory.regions.arena.offset >> 2) + OUTBOX_HEADER.word[word]]!
}

const payloadOf = (number: number): string => String(number).repeat(PAYLOAD)

/** Waits for room without an end. */
export function push(writer: OutboxWriter, number: number): boolean {
  for (;;) {
    const pushed = writer.push('t', payloadOf(number), number)
    if (pushed !== 'full') return pushed === 'pushed'
    writer.waitForRoom('t', payloadOf(number))
  }
}

/** Its number; it is whole. */
export function numberOf({ topic, payload, flags }: OutboxRecord): number {
  assert.deepEqual([topic, payload.toString()], ['t', payloadOf(flags)], 'a torn record')
  return flags
}

/** Reads so many, waits for them without an end, and lets each go. */
export function take(reader: OutboxReader, count: number): number[] {
  const numbers: number[] = []
  while (numbers.length < count) {
    const record = reader.next()
    if (record === null) {
      reader.waitForMore()
      continue
    }
    numbers.push(numberOf(record))
    reader.sent(record.end)
  }
  return numbers
}

/** What is there. */
export function rest(reader: OutboxReader): number[] {
  const numbers: number[] = []
  for (let record = reader.next(); record !== null; record = reader.next()) {
    numbers.push(numberOf(record))
    reader.sent(record.end)
  }
  return numbers
}
