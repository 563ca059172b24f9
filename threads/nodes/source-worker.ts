import { parentPort } from 'node:worker_threads'
import { checkedSource } from './code.ts'
import type { SourceAnswer, SourceAsked } from './source-thread.ts'

/** The thread of `SourceThread`: a source comes in, an answer goes out. */
parentPort!.on('message', (asked: SourceAsked) => parentPort!.postMessage(answer(asked)))

function answer({ language, source }: SourceAsked): SourceAnswer {
  try {
    return checkedSource(language, source)
  } catch (error) {
    return { broken: String(error) }
  }
}
