import { parentPort } from 'node:worker_threads'
import { BuiltIns } from '../../threads/calls/built-ins.ts'

/** A thread as a call slot's: its built-ins are closed, then it runs what it is sent, and puts back what that has replaced. */
const built_ins = new BuiltIns()
const load = (name: string): Promise<unknown> => import(name)

/** What a test sends: the text of a module whose default export is called with a function that imports packages. */
parentPort!.on('message', async (source: string) => {
  const answer: { value?: unknown; error?: string; lost?: string | null } = {}
  built_ins.undo()
  try {
    const { default: run } = (await import(`data:text/javascript,${encodeURIComponent(source)}`)) as {
      default(load: (name: string) => Promise<unknown>): unknown
    }
    built_ins.loaded()
    answer.value = await run(load)
  } catch (error) {
    answer.error = `${(error as Error).name}: ${(error as Error).message}`
  }
  answer.lost = built_ins.restore()
  parentPort!.postMessage(answer)
})
