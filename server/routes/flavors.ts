import Type from 'typebox'
import { Flavor, FlavorName, PutFlavor } from '../../protocol/nouns/flavor.ts'
import type { Flavors } from '../flows/flavors.ts'
import { created, existing, nothing, ok, type Route, route } from '../http/route.ts'
import { closed, listOf, okPage, pageQuery } from './queries.ts'

const tag = 'flavors'

export function flavorRoutes({ flavors }: { flavors: Flavors }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/flavors',
      scope: 'read',
      tag,
      summary: 'Lists the flavors by name.',
      query: Type.Object(pageQuery, closed),
      answers: { 200: listOf(Flavor) },
      handle: ({ query }) => okPage(flavors.list(query), query.offset),
    }),
    route({
      method: 'PUT',
      path: '/flavors/{name}',
      scope: 'edit',
      object: 'any',
      tag,
      summary: 'Creates or replaces a flavor. Nodes that use it get the new numbers from their next call.',
      params: { name: created(FlavorName) },
      body: PutFlavor,
      audit: { action: 'flavor_saved', object: ({ params }) => `flavor:${params.name}` },
      answers: { 200: Flavor },
      refuses: ['bad_resources', 'flavor_conflict', 'too_many_flavors', 'disk_full'],
      handle: async ({ params, body, caller }) => ok(await flavors.put(params.name, body, caller.actor)),
    }),
    route({
      method: 'DELETE',
      path: '/flavors/{name}',
      scope: 'edit',
      object: 'any',
      tag,
      summary: 'Removes a flavor that no node uses.',
      params: { name: existing(FlavorName, 'flavor_not_found') },
      audit: { action: 'flavor_deleted', object: ({ params }) => `flavor:${params.name}` },
      answers: { 204: null },
      refuses: ['flavor_in_use', 'disk_full'],
      handle: async ({ params, caller }) => {
        await flavors.remove(params.name, caller.actor)
        return nothing
      },
    }),
  ]
}
