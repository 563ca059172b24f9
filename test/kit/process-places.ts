import { generateKeyPairSync } from 'node:crypto'
import { MASK_TABLE_BYTES } from '../../core/masks/table.ts'
import { WORKER_PATH } from '../../protocol/worker/wire.ts'
import { TrustedProxies } from '../../server/auth/client-address.ts'
import { signingKeyOf } from '../../server/auth/signing-key.ts'
import { Tokens } from '../../server/auth/tokens.ts'
import { ProcessPlaces, type ProcessPlacesParts } from '../../server/calls/processes/process-places.ts'
import { WorkerDoor } from '../../server/calls/processes/worker-door.ts'
import { WorkersSocket } from '../../server/calls/processes/worker-hub.ts'
import { createFront } from '../../server/http/front.ts'
import { AllowedHosts } from '../../server/http/hosts.ts'
import { LogDouble } from './served-front.ts'

/** Worker processes that dial a front of their own, which nobody else may use. */
export async function processPlaces(
  folder: string,
  most: number,
  more: Partial<ProcessPlacesParts> = {},
): Promise<{ places: ProcessPlaces; close(): Promise<void> }> {
  const places = new ProcessPlaces({
    most,
    most_idle: 1,
    idle_ms: 60_000,
    silent_ms: 60_000,
    heartbeat_ms: 5_000,
    memory_mb: 1_024,
    bodies: folder,
    artifacts: { folder, max_bytes: 0 },
    operator: process.env,
    body_user: null,
    exchange: null,
    failed: () => {},
    environment: () => ({}),
    secret: () => null,
    masks: new SharedArrayBuffer(MASK_TABLE_BYTES),
    now_us: () => Date.now() * 1000,
    ...more,
  })
  const { privateKey } = generateKeyPairSync('ed25519')
  const tokens = new Tokens(
    await signingKeyOf(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()),
    Date.now,
  )
  const nobody = { known: () => null, admit: () => Promise.reject(new RangeError('nobody else attaches')) }
  const door = new WorkerDoor(tokens, nobody, Date.now)
  const front = await createFront({
    routes: [],
    sockets: [new WorkersSocket(places.hub, door)],
    admissions: nobody,
    proxies: new TrustedProxies([]),
    hosts: new AllowedHosts([], '127.0.0.1'),
    log: new LogDouble(),
  })
  const port = await front.listen('127.0.0.1', 0)
  places.open({
    url: `ws://127.0.0.1:${port}${WORKER_PATH}`,
    mint: id => door.mint(id),
    forget: id => door.forget(id),
  })
  let closed: Promise<void> | null = null
  const close = async (): Promise<void> => {
    await places.close()
    front.close()
  }
  return { places, close: () => (closed ??= close()) }
}
