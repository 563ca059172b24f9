import { Worker } from 'node:worker_threads'

export default () => {
  for (let n = 0; n < 3; n++) new Worker('setInterval(() => {}, 1000)', { eval: true })
  return { y: 1 }
}
