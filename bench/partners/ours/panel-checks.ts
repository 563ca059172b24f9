/**
 * What it takes to find out who makes a request and whether it may: the gatekeepers and the rule of a route, as an exchange asks them, in this process.
 *   open() -> us      of an open route
 *   panel() -> us     of a panel's token, on a route whose rule asks the reach of a panel with a dashboard of 200 tiles
 */
import { generateKeyPairSync } from 'node:crypto'
import type { Tile } from '../../../protocol/nouns/dashboard.ts'
import { EveryToken } from '../../../server/auth/every-token.ts'
import { Gatekeeper } from '../../../server/auth/gatekeeper.ts'
import { LastingTokens } from '../../../server/auth/lasting-tokens.ts'
import { type Caller, mayCall, type PanelReach } from '../../../server/auth/principal.ts'
import { signingKeyOf } from '../../../server/auth/signing-key.ts'
import { StandingPanels } from '../../../server/auth/standing-panels.ts'
import { Tokens } from '../../../server/auth/tokens.ts'
import { Dashboards } from '../../../server/dashboards/dashboards.ts'
import { Locks } from '../../../server/dashboards/locks.ts'
import { Panels } from '../../../server/panels/panels.ts'
import { median } from '../../kit.ts'
import { answer } from '../../partner.ts'

const SAMPLES = 10_000
/** Of one sample: less than a microsecond is not measured alone. */
const TIMES = 50
const TILES = 200
/** Tokens that are known; another one each time, as with many screens. */
const SCREENS = 500

const { privateKey } = generateKeyPairSync('ed25519')
const key = await signingKeyOf(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
const tokens = new Tokens(key, Date.now)
const records = { list: async () => [], write: async () => null }
const dashboards = new Dashboards({
  records,
  locks: new Locks({
    directory: { indexOf: () => -1 },
    values: { version: () => 0, read: () => false },
    decoder: { decode: () => null },
  }),
  messages: { get: () => undefined },
  flows: { find: () => undefined },
  announce: () => {},
  now_us: () => Date.now() * 1000,
})
const panels = await Panels.open({
  records,
  dashboards,
  now: { isClosed: () => false, wasShown: () => false },
  mint: (panel, nonce) => tokens.mint('panel', panel, nonce, 3600),
  now_us: () => Date.now() * 1000,
  steady_ms: () => performance.now(),
})
const tiles: Tile[] = Array.from({ length: TILES }, (_, at) => ({
  id: `t${at}`,
  type: 'switch',
  settings: { publish: `f.m${at}` },
  position: { wide: { x: 0, y: at, width: 1, height: 1 } },
}))
await dashboards.save('wide', { locked: { message: 'f.lock' }, tiles }, undefined, 'bench')
const lasting = new LastingTokens(undefined, async () => null, Date.now)
const callers = new EveryToken({ panel: new Gatekeeper(tokens, new StandingPanels(panels), Date.now) }, lasting)
const known: string[] = []
for (let at = 0; at < SCREENS; at++) {
  const { id } = await panels.create({ name: `p${at}`, dashboards: ['wide'] }, 'bench')
  const token = await tokens.mint('panel', id, panels.standing(id)!.nonce, 3600)
  await callers.admit(token)
  known.push(token)
}

const rule = (reach: PanelReach, { name }: { name: string }): boolean => reach.mayPublish(name)
let refused = 0
function admitted(at: number): void {
  const admission = callers.known(known[at % SCREENS]!)!
  const caller: Caller = admission.principal
  if (!mayCall('publish', true, caller)) refused++
  if (caller.kind === 'panel' && !rule(caller.reach, { name: `f.m${at % TILES}` })) refused++
}
function open(): void {
  if (!mayCall('open', false, null)) refused++
}

function measured(work: (at: number) => void): number {
  const taken_us: number[] = []
  for (let sample = 0; sample < SAMPLES; sample++) {
    const began_ms = performance.now()
    for (let time = 0; time < TIMES; time++) work(sample * TIMES + time)
    taken_us.push(((performance.now() - began_ms) * 1000) / TIMES)
  }
  if (refused > 0) throw new RangeError(`${refused} were refused`)
  return median(taken_us)
}

answer({ open: () => measured(open), panel: () => measured(admitted) })
