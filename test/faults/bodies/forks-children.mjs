import { spawn } from 'node:child_process'

export default () => {
  for (let n = 0; n < 5; n++) spawn('sleep', ['2'], { stdio: 'ignore' })
  return { y: 1 }
}
