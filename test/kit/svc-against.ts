import type { TestContext } from 'node:test'
import { ApiDouble, type Scripted } from './api-double.ts'
import { directoryFor, Spawned } from './spawned.ts'

/** A command of `svc` that finds the double by its environment. */
export const svc = (t: TestContext, api: ApiDouble, argv: string[]): Spawned =>
  Spawned.svc(t, { argv, cwd: directoryFor(t), environment: { SVC_URL: api.url, SVC_TOKEN: 'tok' } })

/** One command against a double with the script, to its end. */
export async function against(t: TestContext, script: Record<string, Scripted>, argv: string[]) {
  const api = await ApiDouble.start(t, script)
  const { code, stdout, stderr } = await ended(svc(t, api, argv))
  return { api, code, stdout, stderr, requests: api.requests }
}

export async function ended(run: Spawned) {
  const { code } = await run.ended
  return { code, stdout: run.stdout, stderr: run.stderr }
}
