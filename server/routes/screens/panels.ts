import Type from 'typebox'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import {
  ApprovePairing,
  ChangePanel,
  ClaimedPanel,
  ClaimPairing,
  CreatePanel,
  OwnPanel,
  PairingCode,
  Panel,
  PanelId,
  PendingPairing,
  StartedPairing,
} from '../../../protocol/nouns/panel.ts'
import type { Audit } from '../../auth/audit.ts'
import { mayDo } from '../../auth/principal.ts'
import { existing, nothing, ok, type Route, route } from '../../http/route.ts'
import type { Panels } from '../../panels/panels.ts'
import { closed, listOf, okPage, pageQuery } from '../queries.ts'

export interface PanelServices {
  readonly panels: Panels
  readonly audit: Audit
}

const tag = 'panels'
const id = existing(PanelId, 'panel_not_found')
const UNSTORED = { 'cache-control': 'no-store' }

export function panelRoutes({ panels, audit }: PanelServices): Route[] {
  return [
    route({
      method: 'GET',
      path: '/panels',
      scope: 'read',
      tag,
      summary: 'Lists the panels with their dashboards, the oldest first.',
      query: Type.Object(pageQuery, closed),
      answers: { 200: listOf(Panel) },
      handle: ({ query }) => okPage(panels.list(query), query.offset),
    }),
    route({
      method: 'POST',
      path: '/panels',
      scope: 'edit',
      tag,
      summary: 'Creates a panel: a name for a screen, and the dashboards that it shows.',
      body: CreatePanel,
      audit: { action: 'panel_created', object: (_request, { body }) => `panel:${(body as Panel).id}` },
      answers: { 201: Panel },
      refuses: ['panel_exists', 'too_many_panels', 'disk_full'],
      handle: async ({ body, caller }) => {
        const panel = await panels.create(body, caller.actor)
        return { status: 201, body: panel, headers: { location: `/panels/${panel.id}` } }
      },
    }),
    route({
      method: 'GET',
      path: '/panels/me',
      scope: 'read',
      object: () => true,
      tag,
      summary: 'For a panel: its name, and its dashboards with their versions.',
      answers: { 200: OwnPanel },
      refuses: ['panel_not_found'],
      handle: ({ caller }) => {
        if (caller.kind !== 'panel') throw new ServiceError('panel_not_found', 'This token is not that of a panel.')
        return ok(panels.own(caller.id))
      },
    }),
    route({
      method: 'GET',
      path: '/panels/{id}',
      scope: 'read',
      object: 'any',
      tag,
      summary: 'Returns a panel.',
      params: { id },
      answers: { 200: Panel },
      handle: ({ params }) => ok(panels.get(params.id)),
    }),
    route({
      method: 'PUT',
      path: '/panels/{id}',
      scope: 'edit',
      object: 'any',
      tag,
      summary: 'Changes the name or the dashboards of a panel. Its screens may do what these say, at once.',
      params: { id },
      body: ChangePanel,
      audit: { action: 'panel_changed', object: ({ params }) => `panel:${params.id}` },
      answers: { 200: Panel },
      refuses: ['panel_exists', 'disk_full'],
      handle: async ({ params, body }) => {
        const panel = await panels.change(params.id, body)
        return ok(panel)
      },
    }),
    route({
      method: 'DELETE',
      path: '/panels/{id}',
      scope: 'edit',
      object: 'any',
      tag,
      summary: 'Removes a panel. Its screens are refused at once.',
      params: { id },
      audit: { action: 'panel_removed', object: ({ params }) => `panel:${params.id}` },
      answers: { 204: null },
      refuses: ['disk_full'],
      handle: async ({ params }) => {
        await panels.remove(params.id)
        return nothing
      },
    }),
    route({
      method: 'POST',
      path: '/panels/{id}/approve',
      scope: 'edit',
      object: 'any',
      tag,
      summary: 'Lets the screen that shows the code be this panel. Who approves needs the scope "publish", too.',
      params: { id },
      body: ApprovePairing,
      audit: { action: 'panel_approved', object: ({ params }) => `panel:${params.id}` },
      answers: { 204: null },
      refuses: ['pairing_not_found', 'rate_limited'],
      handle: ({ params, body, caller }) => {
        // A screen may publish, so who may not cannot let one in.
        if (!mayDo(caller, 'publish'))
          throw new ServiceError('forbidden', 'To approve a screen needs the scope "publish", because screens publish.')
        panels.approve(params.id, body.code, caller.actor)
        return nothing
      },
    }),
    route({
      method: 'POST',
      path: '/panels/{id}/unpair',
      scope: 'edit',
      object: 'any',
      tag,
      summary: 'Refuses the screens of the panel from now on. Its name and its dashboards stay.',
      params: { id },
      audit: { action: 'panel_unpaired', object: ({ params }) => `panel:${params.id}` },
      answers: { 204: null },
      refuses: ['disk_full'],
      handle: async ({ params }) => {
        await panels.unpair(params.id)
        return nothing
      },
    }),
    route({
      method: 'POST',
      path: '/panels/pairings',
      scope: 'open',
      tag,
      summary: 'For a screen: starts a pairing. It shows the code, and keeps the secret.',
      address: true,
      answers: { 201: StartedPairing },
      refuses: ['too_many_pairings'],
      handle: ({ address }) => ({ status: 201, body: panels.startPairing(address), headers: UNSTORED }),
    }),
    route({
      method: 'POST',
      path: '/panels/pairings/{code}/claim',
      scope: 'open',
      object: 'any',
      tag,
      summary: 'For a screen: 202 until its code was approved, then its token, once.',
      params: { code: existing(PairingCode, 'pairing_not_found') },
      body: ClaimPairing,
      body_limit: limits.CLAIM_BODY_BYTES,
      address: true,
      form: true,
      answers: { 200: ClaimedPanel, 202: PendingPairing },
      refuses: ['pairing_not_found', 'rate_limited', 'disk_full'],
      handle: async ({ params, body, address }) => {
        const claimed = await panels.claim(params.code, body.secret, address)
        if (!('token' in claimed)) return { status: 202, body: { status: 'pending', ...claimed } }
        audit.done({ action: 'panel_paired', actor: null, object: `panel:${claimed.panel.id}`, address })
        return { status: 200, body: claimed, headers: UNSTORED }
      },
    }),
  ]
}
