import { existsSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import type { FromCalledThread, ToCalledThread } from '../../server/watch/called-thread.ts'

/** A thread that answers requests, for the tests of those who call it: it fails to start while the file is there. */
export type PlayRequest = 'answer' | 'hang' | 'die'

const { fails_while } = workerData as { fails_while: string }
if (existsSync(fails_while)) throw new RangeError('no start today')
const say = (message: FromCalledThread): void => parentPort!.postMessage(message)

parentPort!.on('message', (message: ToCalledThread<PlayRequest>) => {
  if (message.type === 'close') return parentPort!.close()
  if (message.type === 'call' && message.request === 'hang') for (;;);
  if (message.type === 'call' && message.request === 'die') process.exit(3)
  say({ type: 'done', id: message.id, result: 'answered' })
})
