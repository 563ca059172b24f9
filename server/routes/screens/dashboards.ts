import Type from 'typebox'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import {
  Dashboard,
  DashboardName,
  DashboardSummary,
  DashboardVersion,
  DashboardVersionDetail,
  SaveDashboard,
  SavedDashboard,
} from '../../../protocol/nouns/dashboard.ts'
import type { Dashboards } from '../../dashboards/dashboards.ts'
import { created, existing, nothing, ok, okLong, type Route, route } from '../../http/route.ts'
import { closed, listOf, okPage, pageQuery } from '../queries.ts'

export interface DashboardServices {
  readonly dashboards: Dashboards
}

const tag = 'dashboards'
const name = existing(DashboardName, 'dashboard_not_found')
const page = Type.Object(pageQuery, closed)
const Version = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const document_refusals = ['unknown_tile_type', 'bad_tile', 'disk_full'] as const

/** The check names places within the document (`tiles[2].type`); to the client they lie in the body. */
async function inBody<Saved>(saving: Promise<Saved>): Promise<Saved> {
  try {
    return await saving
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const errors = error.errors.map(({ loc, msg }) => ({
      loc: loc === '(document)' ? 'body.document' : `body.document.${loc}`,
      msg,
    }))
    throw ServiceError.from({ ...error.toJSON(), errors })
  }
}

export function dashboardRoutes({ dashboards }: DashboardServices): Route[] {
  return [
    route({
      method: 'GET',
      path: '/dashboards',
      scope: 'read',
      tag,
      summary: 'Lists the dashboards by name, each with the panels that show it.',
      query: page,
      answers: { 200: listOf(DashboardSummary) },
      handle: ({ query }) => okPage(dashboards.list(query), query.offset),
    }),
    route({
      method: 'GET',
      path: '/dashboards/{name}',
      scope: 'read',
      object: (reach, { params }) => reach.mayShow(params.name),
      tag,
      summary: 'Returns a dashboard: its document, and whether it is locked now.',
      params: { name },
      answers: { 200: Dashboard },
      handle: ({ params, caller }) =>
        okLong(caller.kind === 'panel' ? dashboards.shownTo(params.name) : dashboards.get(params.name)),
    }),
    route({
      method: 'PUT',
      path: '/dashboards/{name}',
      scope: 'edit',
      object: 'any',
      tag,
      summary: 'Creates or replaces a dashboard. Panels that show it may do what the new document says, at once.',
      params: { name: created(DashboardName) },
      body: SaveDashboard,
      unchecked: ['document'],
      audit: { action: 'dashboard_saved', object: ({ params }) => `dashboard:${params.name}` },
      answers: { 200: SavedDashboard },
      refuses: ['stale_version', 'too_many_dashboards', ...document_refusals],
      handle: async ({ params, body, caller }) => {
        const saved = await inBody(dashboards.save(params.name, body.document, body.version, caller.actor))
        return ok(saved)
      },
    }),
    route({
      method: 'DELETE',
      path: '/dashboards/{name}',
      scope: 'edit',
      object: 'any',
      tag,
      summary: 'Removes a dashboard that no panel shows; its history is kept for a while.',
      params: { name },
      audit: { action: 'dashboard_deleted', object: ({ params }) => `dashboard:${params.name}` },
      answers: { 204: null },
      refuses: ['dashboard_in_use', 'disk_full'],
      handle: async ({ params, caller }) => {
        await dashboards.remove(params.name, caller.actor)
        return nothing
      },
    }),
    route({
      method: 'GET',
      path: '/dashboards/{name}/history',
      scope: 'read',
      object: 'any',
      tag,
      summary: `Lists the versions of a dashboard that are kept, newest first; ${limits.DASHBOARD_VERSIONS} at most.`,
      params: { name },
      query: page,
      answers: { 200: listOf(DashboardVersion) },
      handle: ({ params, query }) => okPage(dashboards.history(params.name, query), query.offset),
    }),
    route({
      method: 'GET',
      path: '/dashboards/{name}/history/{version}',
      scope: 'read',
      object: 'any',
      tag,
      summary: 'Returns a version: its document, and what it changed.',
      params: { name, version: existing(Type.String({ pattern: '^[1-9][0-9]{0,14}$' }), 'version_not_found') },
      answers: { 200: DashboardVersionDetail },
      handle: async ({ params }) => okLong(await dashboards.version(params.name, Number(params.version))),
    }),
    route({
      method: 'POST',
      path: '/dashboards/{name}/restore',
      scope: 'edit',
      object: 'any',
      tag,
      summary: 'Saves the document of an earlier version as the newest one, also of a dashboard that was deleted.',
      params: { name },
      body: Type.Object({ version: Version }, closed),
      audit: { action: 'dashboard_restored', object: ({ params }) => `dashboard:${params.name}` },
      answers: { 200: SavedDashboard },
      refuses: ['version_not_found', 'too_many_dashboards', ...document_refusals],
      handle: async ({ params, body, caller }) => {
        const saved = await inBody(dashboards.restore(params.name, body.version, caller.actor))
        return ok(saved)
      },
    }),
  ]
}
