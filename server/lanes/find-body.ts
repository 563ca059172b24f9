import type { Worker } from 'node:worker_threads'
import type { Plan } from '../../core/flow/plan.ts'
import { BODY_FILE } from '../../threads/calls/node-call.ts'

const PROFILE_MS = 50
const PAUSE_MS = 3_000
const PAUSES = 20

interface Profile {
  nodes: { id: number; callFrame: { url: string }; hitCount?: number; children?: number[] }[]
}

/** The digest of the body in which a thread is, whatever it does and however long; null when it is in none. */
export async function bodyOnThread(worker: Worker): Promise<string | null> {
  return (await bodyInProfile(worker)) ?? (await bodyInPause(worker))
}

/** A short profile disturbs nothing, and sees microtasks that follow one another. It knows no loop that was compiled before it began. */
async function bodyInProfile(worker: Worker): Promise<string | null> {
  // Node 22.20 and newer.
  if (typeof worker.startCpuProfile !== 'function') return null
  const handle = await worker.startCpuProfile('body')
  await new Promise(resolve => setTimeout(resolve, PROFILE_MS))
  return mostSeen(JSON.parse(await handle.stop()) as Profile)
}

interface Paused {
  callFrames: { location: { scriptId: string } }[]
}

/** A debugger's pause sees every loop. The thread goes on afterwards, slower until its code is compiled again. */
async function bodyInPause(worker: Worker): Promise<string | null> {
  const { Session } = await import('node:inspector')
  const session = new Session()
  session.connect()
  let at: string | null = null
  const say = (method: string): void => {
    const message = JSON.stringify({ id: 1, method })
    if (at !== null) session.post('NodeWorker.sendMessageToWorker', { sessionId: at, message })
  }
  try {
    return await new Promise(resolve => {
      setTimeout(resolve, PAUSE_MS, null).unref()
      const bodies = new Map<string, string>()
      let pauses = PAUSES
      const hear = (method: string, params: unknown): void => {
        if (method === 'Debugger.scriptParsed') {
          const { scriptId, url } = params as { scriptId: string; url: string }
          const digest = BODY_FILE.exec(url)?.[1]
          if (digest !== undefined) bodies.set(scriptId, digest)
        } else if (method === 'Debugger.paused') {
          const innermost = (params as Paused).callFrames.find(frame => bodies.has(frame.location.scriptId))
          if (innermost !== undefined) return resolve(bodies.get(innermost.location.scriptId)!)
          // Between two microtasks: the next statement is somebody's.
          if (--pauses === 0) return resolve(null)
          say('Debugger.pause')
          say('Debugger.resume')
        }
      }
      session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => {
        const { method, params: said } = JSON.parse(params.message) as { method?: string; params?: unknown }
        if (params.sessionId === at && method !== undefined) hear(method, said)
      })
      session.on('NodeWorker.attachedToWorker', ({ params: { sessionId, workerInfo } }) => {
        if (workerInfo.title !== `[worker ${worker.threadId}]`) return
        at = sessionId
        say('Debugger.enable')
        say('Debugger.pause')
      })
      session.post('NodeWorker.enable', { waitForDebuggerOnStart: false })
    })
  } finally {
    // A thread that stays paused could not even be ended.
    say('Debugger.disable')
    session.post('NodeWorker.disable')
    session.disconnect()
  }
}

/** Each sample counts for the innermost body that called what was seen. */
function mostSeen({ nodes }: Profile): string | null {
  const by_id = new Map(nodes.map(node => [node.id, node]))
  const hits = new Map<string, number>()
  const visit = (id: number, around: string | null): void => {
    const node = by_id.get(id)!
    const body = BODY_FILE.exec(node.callFrame.url)?.[1] ?? around
    if (body !== null) hits.set(body, (hits.get(body) ?? 0) + (node.hitCount ?? 0))
    for (const child of node.children ?? []) visit(child, body)
  }
  if (nodes.length > 0) visit(nodes[0]!.id, null)
  let most: string | null = null
  for (const [body, count] of hits) if (count > 0 && count > (most === null ? 0 : hits.get(most)!)) most = body
  return most
}

/** Index of a node with that body. Nodes with the same source share a file; of those it is one of a flow that is owned, if any is. */
export function nodeOfBody(
  digest: string | null,
  plans: Iterable<Plan>,
  isOwned: (flow_index: number) => boolean,
): number | null {
  if (digest === null) return null
  let found: number | null = null
  for (const plan of plans) {
    const node = plan.nodes.find(one => one.digest === digest)
    if (node === undefined) continue
    if (isOwned(plan.flow_index)) return node.index
    found ??= node.index
  }
  return found
}
