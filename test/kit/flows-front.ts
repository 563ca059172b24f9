import { SCOPES_OF } from '../../protocol/words/scopes.ts'
import { TrustedProxies } from '../../server/auth/client-address.ts'
import type { Admission } from '../../server/auth/gatekeeper.ts'
import { createFront, type Front } from '../../server/http/front.ts'
import { AllowedHosts } from '../../server/http/hosts.ts'
import type { SocketHandlers } from '../../server/http/socket.ts'
import type { Log } from '../../server/observe/serve-log.ts'

export const TOKEN = 'token-of-ada'
const ADMISSION: Admission = {
  principal: { kind: 'user', name: 'ada', actor: 'ada', role: 'editor', superuser: false, scopes: SCOPES_OF.editor },
  expires_ms: 1e15,
  holds: () => true,
}
const SILENT: Log = { info: () => {}, warn: () => {}, error: () => {} }

/** A real front that serves nothing but one websocket path, and lets anybody in. */
export async function startFlowsFront(sockets: SocketHandlers): Promise<{ front: Front; port: number }> {
  const front = await createFront({
    routes: [],
    sockets: [sockets],
    admissions: { known: () => ADMISSION, admit: () => Promise.resolve(ADMISSION) },
    proxies: new TrustedProxies([]),
    hosts: new AllowedHosts([], '127.0.0.1'),
    log: SILENT,
  })
  return { front, port: await front.listen('127.0.0.1', 0) }
}
