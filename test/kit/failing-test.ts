/** A test that starts an engine, says which processes there are, and then fails in the way that `HOW` names. Run by `test/run.test.ts`. */
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { body, flowOf, RealEngine } from './real-engine.ts'
import { eventually } from './spawned.ts'

test('fails on purpose', async t => {
  const engine = await RealEngine.start(t, { environment: { FLOW_MAX_WORKERS: '1' } })
  const source = 'export default () => ({ y: process.pid })'
  const more = { isolation: 'process' as const }
  await engine.save('f', flowOf(body('pid', source, { reads: ['x'], makes: ['y'], more })))
  await engine.publish('f.x', 1)
  const { value } = await eventually('the body ran', async () => {
    const message = await engine.message('f.y')
    return message.value === null ? null : message
  })
  writeFileSync(process.env['TOLD']!, JSON.stringify([engine.process.child.pid, engine.pid, value]))
  switch (process.env['HOW']) {
    case 'is killed':
      return void process.kill(process.pid, 'SIGKILL')
    case 'exits':
      process.exit(3)
      break
    case 'throws outside of the test':
      setImmediate(() => {
        throw new Error('outside')
      })
      await new Promise(resolve => setTimeout(resolve, 100))
      break
    default:
      throw new Error('on purpose')
  }
})
