import Type from 'typebox'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import {
  CreateFlow,
  Flow,
  FlowCommit,
  FlowCommitDetail,
  FlowName,
  FlowSummary,
  PurgedFlow,
  SavedFlow,
  SaveFlow,
} from '../../protocol/nouns/flow.ts'
import { type Caller, mayDo } from '../auth/principal.ts'
import type { Engine } from '../engine.ts'
import { jsonBytes } from '../http/long-answer.ts'
import { created, existing, nothing, ok, okLong, type Route, route } from '../http/route.ts'
import { closed, listOf, okPage, pageQuery } from './queries.ts'

const tag = 'flows'
const name = existing(FlowName, 'flow_not_found')
const named = ({ params }: { params: { name: string } }): string => `flow:${params.name}`
const page = Type.Object(pageQuery, closed)
const Commit = Type.String({ pattern: '^[0-9a-f]{4,64}$' })

/** What a checked document can be refused with. */
const document_refusals = [
  'duplicate_name',
  'second_producer',
  'dtype_mismatch',
  'unknown_node_type',
  'bad_settings',
  'bad_cron',
  'syntax_error',
  'no_default_export',
  'unknown_flavor',
  'flavor_conflict',
  'bad_resources',
  'language_unavailable',
  'too_many_messages',
  'disk_full',
  'check_late',
] as const

const mayCode = (caller: Caller): 'edit' | 'code' => (mayDo(caller, 'code') ? 'code' : 'edit')

/** The engine names places within the document (`nodes[2].type`); to the client they lie in the body. */
async function inBody<Saved>(saving: Promise<Saved>): Promise<Saved> {
  try {
    return await saving
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const errors = error.errors.map(({ loc, msg }) => ({ loc: placeInBody(loc), msg }))
    throw ServiceError.from({ ...error.toJSON(), errors })
  }
}

const placeInBody = (loc: string): string => {
  if (loc === '(document)') return 'body.document'
  return /^(nodes|inputs)\b/.test(loc) ? `body.document.${loc}` : loc
}

export function flowRoutes({ engine }: { engine: Pick<Engine, 'flows'> }): Route[] {
  const { flows } = engine
  return [
    route({
      method: 'GET',
      path: '/flows',
      scope: 'read',
      tag,
      summary: 'Lists the flows by name, each with its issues.',
      query: page,
      answers: { 200: listOf(FlowSummary) },
      handle: ({ query }) => okPage(flows.list(query), query.offset),
    }),
    route({
      method: 'POST',
      path: '/flows',
      scope: 'edit',
      tag,
      summary: 'Stores a new flow and starts it.',
      body: CreateFlow,
      body_limit: limits.FLOW_BODY_BYTES,
      unchecked: ['document'],
      audit: { action: 'flow_saved', object: ({ body }) => `flow:${body.name}` },
      answers: { 201: SavedFlow },
      refuses: ['flow_exists', 'too_many_flows', ...document_refusals],
      handle: async ({ body, caller }) => ({
        status: 201,
        body: await inBody(flows.create(body, caller.actor, mayCode(caller))),
        headers: { location: `/flows/${body.name}` },
      }),
    }),
    route({
      method: 'GET',
      path: '/flows/{name}',
      scope: 'read',
      object: 'any',
      tag,
      summary: 'Returns a flow: its document, its backlog, and the status of its nodes.',
      params: { name },
      answers: { 200: Flow },
      handle: ({ params }) => okLong(flows.get(params.name)),
    }),
    route({
      method: 'PUT',
      path: '/flows/{name}',
      scope: 'edit',
      object: 'any',
      tag,
      summary: 'Creates or replaces a flow. Nodes that did not change keep their state.',
      params: { name: created(FlowName) },
      body: SaveFlow,
      body_limit: limits.FLOW_BODY_BYTES,
      unchecked: ['document'],
      audit: { action: 'flow_saved', object: named },
      answers: { 200: SavedFlow },
      refuses: ['stale_version', 'too_many_flows', ...document_refusals],
      handle: async ({ params, body, caller }) =>
        okLong(await inBody(flows.save(params.name, body, caller.actor, mayCode(caller)))),
    }),
    route({
      method: 'DELETE',
      path: '/flows/{name}',
      scope: 'edit',
      object: 'any',
      tag,
      summary: 'Stops and removes a flow; its history is kept.',
      params: { name },
      audit: { action: 'flow_deleted', object: named },
      answers: { 204: null },
      refuses: ['flow_has_live_run', 'disk_full'],
      handle: async ({ params, caller }) => {
        await flows.remove(params.name, caller.actor)
        return nothing
      },
    }),
    route({
      method: 'POST',
      path: '/flows/{name}/rename',
      scope: 'edit',
      object: 'any',
      tag,
      summary: 'Renames a flow, and updates the other flows that read its messages.',
      params: { name },
      body: Type.Object({ to: FlowName }, closed),
      audit: { action: 'flow_renamed', object: named },
      answers: { 200: SavedFlow },
      refuses: ['flow_exists', 'flow_has_live_run', 'disk_full'],
      handle: async ({ params, body, caller }) => ok(await flows.rename(params.name, body.to, caller.actor)),
    }),
    ...([true, false] as const).map(enabled =>
      route({
        method: 'POST',
        path: enabled ? '/flows/{name}/enable' : '/flows/{name}/disable',
        scope: 'run',
        object: 'any',
        tag,
        summary: enabled
          ? 'Lets a flow run.'
          : 'Stops a flow and what runs in it; its values, its state and its queue stay.',
        params: { name },
        audit: { action: enabled ? 'flow_enabled' : 'flow_disabled', object: named },
        answers: { 200: SavedFlow },
        refuses: ['disk_full'],
        handle: async ({ params, caller }) => ok(await flows.setEnabled(params.name, enabled, caller.actor)),
      }),
    ),
    route({
      method: 'POST',
      path: '/flows/{name}/purge',
      scope: 'run',
      object: 'any',
      tag,
      summary: 'Drops and counts all waiting items of a flow; running executions continue.',
      params: { name },
      audit: { action: 'flow_purged', object: named },
      answers: { 200: PurgedFlow },
      handle: async ({ params, caller }) => ok(await flows.purge(params.name, caller.actor)),
    }),
    route({
      method: 'GET',
      path: '/flows/{name}/history',
      scope: 'read',
      object: 'any',
      tag,
      summary: 'Lists the commits of a flow, newest first.',
      params: { name },
      query: page,
      answers: { 200: listOf(FlowCommit) },
      handle: async ({ params, query }) => okPage(await flows.history(params.name, query), query.offset),
    }),
    route({
      method: 'GET',
      path: '/flows/{name}/history/{commit}',
      scope: 'read',
      object: 'any',
      tag,
      summary: 'Returns a commit: its document, and what it changed.',
      params: { name, commit: existing(Commit, 'commit_not_found') },
      answers: { 200: FlowCommitDetail },
      handle: async ({ params }) => jsonBytes(await flows.commitText(params.name, params.commit)),
    }),
    route({
      method: 'POST',
      path: '/flows/{name}/restore',
      scope: 'code',
      object: 'any',
      tag,
      summary: 'Saves the document of an earlier commit as the newest one.',
      params: { name },
      body: Type.Object({ commit: Commit }, closed),
      audit: { action: 'flow_restored', object: named },
      answers: { 200: SavedFlow },
      refuses: ['commit_not_found', ...document_refusals],
      handle: async ({ params, body, caller }) => ok(await flows.restore(params.name, body.commit, caller.actor)),
    }),
    route({
      method: 'GET',
      path: '/flows/{name}/nodes/{id}/source',
      scope: 'read',
      object: 'any',
      tag,
      summary: 'Returns the source of a node, or a template with `missing` when the node has no source.',
      params: { name, id: existing(FlowName, 'node_not_found') },
      answers: { 200: Type.Object({ source: Type.String(), missing: Type.Boolean() }) },
      handle: ({ params }) => ok(flows.source(params.name, params.id)),
    }),
  ]
}
