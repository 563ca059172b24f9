import { parentPort } from 'node:worker_threads'

export default () => {
  parentPort?.close()
  return { y: 1 }
}
