import { parentPort, threadId } from 'node:worker_threads'

const outcome = { type: 'returned', outputs: { y: 'forged' }, state: {}, ms: 0 }
export default () => {
  const said = [null, 5, outcome, { _WORKER_READY: true }, { type: 'done' }, { type: 'ready', thread: threadId }]
  for (let call = 0; call < 200; call++) said.push({ type: 'call', call, message: outcome }, { taskId: call, result: outcome, error: null })
  for (const message of said) parentPort?.postMessage(message)
  return { y: 1 }
}
