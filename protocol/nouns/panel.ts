import Type, { type Static } from 'typebox'
import { limits } from '../limits.ts'
import { DashboardName } from './dashboard.ts'
import { Timestamp } from './timestamp.ts'

const closed = { additionalProperties: false }

export const PanelId = Type.String({ pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$' })

export const CreatePanel = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: limits.PANEL_NAME_CHARACTERS, pattern: '^[^\\x00-\\x1f\\x7f]+$' }),
    dashboards: Type.Array(DashboardName, {
      maxItems: limits.PANEL_DASHBOARDS,
      description: 'The first is shown first.',
    }),
  },
  closed,
)
export type CreatePanel = Static<typeof CreatePanel>

export const ChangePanel = Type.Object(
  { name: Type.Optional(CreatePanel.properties.name), dashboards: Type.Optional(CreatePanel.properties.dashboards) },
  closed,
)
export type ChangePanel = Static<typeof ChangePanel>

export const Panel = Type.Object({
  id: Type.String(),
  name: Type.String(),
  dashboards: Type.Array(Type.String()),
  paired: Type.Boolean({ description: 'A screen has taken its token, and was not unpaired since.' }),
  connected: Type.Integer({ description: 'Its websockets that are open now.' }),
  created_at: Timestamp,
  created_by: Type.String(),
})
export type Panel = Static<typeof Panel>

/** What a screen knows of itself. */
export const OwnPanel = Type.Object({
  id: Type.String(),
  name: Type.String(),
  dashboards: Type.Array(Type.Object({ name: Type.String(), version: Type.Integer() })),
})
export type OwnPanel = Static<typeof OwnPanel>

export const PairingCode = Type.String({ pattern: '^[0-9A-Za-z]{6}$' })

export const StartedPairing = Type.Object({
  code: Type.String({ description: 'For people: six characters, without those that look alike.' }),
  secret: Type.String({ description: 'For the screen alone: with it, it takes its token.' }),
  expires_at: Timestamp,
})
export type StartedPairing = Static<typeof StartedPairing>

export const ApprovePairing = Type.Object({ code: PairingCode }, closed)
export const ClaimPairing = Type.Object({ secret: Type.String({ maxLength: 128 }) }, closed)

export const PendingPairing = Type.Object({ status: Type.Literal('pending'), expires_at: Timestamp })
export const ClaimedPanel = Type.Object({
  token: Type.String({ description: 'Sent as a bearer token; it ends when the panel is unpaired or removed.' }),
  panel: OwnPanel,
})
export type ClaimedPanel = Static<typeof ClaimedPanel>
export type PendingPairing = Static<typeof PendingPairing>
