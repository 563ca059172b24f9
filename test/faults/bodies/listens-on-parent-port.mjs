import { parentPort } from 'node:worker_threads'

export default () => {
  parentPort?.on('message', () => process.exit(3))
  parentPort?.emit('message', { port: null })
  return { y: 1 }
}
