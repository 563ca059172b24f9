import assert from 'node:assert/strict'
import { Worker } from 'node:worker_threads'
import type { Route } from '../../../../core/cascade/publish/route.ts'
import { type EncodedValue, KIND } from '../../../../core/memory/encoded.ts'
import type { Memory } from '../../../../core/memory/region.ts'
import { QUICKLY } from '../../../kit/spawned.ts'
import { route } from './station.ts'

export const FLOWS = 6
/** Messages that start cascades: several in a flow, some read elsewhere too. */
export const INGRESS: readonly Route[] = [
  route(0, 0),
  route(1, 1, [0, 2]),
  route(2, 2),
  route(3, 3, [5], false),
  route(4, 4, [1]),
  route(5, 5),
  route(6, 1),
]
/** What a lane publishes inside each flow; the next flow reads it. */
export const INNER: readonly Route[] = Array.from({ length: FLOWS }, (_, flow) =>
  route(10 + flow, flow, [(flow + 1) % FLOWS]),
)
/** A second message that some emissions publish with it: the next flow gets both as one group. */
export const BESIDE: readonly Route[] = Array.from({ length: FLOWS }, (_, flow) =>
  route(16 + flow, flow, [(flow + 1) % FLOWS]),
)
export const MESSAGES = 22

/** i32 words that the threads of a stress share beside the memory. */
export const WORDS = {
  stop: 0,
  /** Producers that are through. */
  produced: 1,
  /** Threads that were ended. */
  deaths: 2,
  /** Per flow and message: the version that was taken last, written by the flow's owner. */
  last: 8,
  /** Per flow: 1 after its owner died: the item that it had just taken is missing once. */
  grace: 8 + FLOWS * MESSAGES,
  words: 8 + FLOWS * MESSAGES + FLOWS,
} as const

export interface StressData {
  sab: SharedArrayBuffer
  words: Int32Array
  slot: number
  /** 0: a lane. */
  publishes: number
  seed: number
}

/** A text whose first bytes name the seed of the rest. */
export function text(seed: number, length: number): EncodedValue {
  const bytes = Buffer.alloc(length)
  for (let i = 0; i < length; i++) bytes[i] = (seed + i * 7) & 0xff
  return { kind: KIND.str, number: 0, bytes, length }
}

/** Torn: bytes of two values. */
export function checkText({ bytes, length }: EncodedValue): void {
  for (let i = 0; i < length; i++) {
    if (bytes[i]! !== ((bytes[0]! + i * 7) & 0xff)) assert.fail(`byte ${i} of ${length} belongs to another value`)
  }
}

/** Starts a thread; its failure fails `failed`. */
export async function startThread(data: StressData, failed: (error: unknown) => void): Promise<Worker> {
  const worker = new Worker(new URL('./stress-thread.ts', import.meta.url), {
    execArgv: QUICKLY,
    workerData: data,
  })
  worker.on('error', failed)
  await new Promise<void>((resolve, reject) => {
    worker.once('message', () => resolve())
    worker.once('error', reject)
  })
  return worker
}

export const newWords = (): Int32Array => new Int32Array(new SharedArrayBuffer(WORDS.words * 4))

export const waiting = (memory: Memory, queued: (flow: number) => number): number =>
  Array.from({ length: Math.min(FLOWS, memory.sizes.flows) }, (_, flow) => queued(flow)).reduce((a, b) => a + b, 0)
