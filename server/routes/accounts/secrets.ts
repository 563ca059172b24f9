import Type from 'typebox'
import { PutSecret, Rekeyed, Secret, SecretName } from '../../../protocol/nouns/accounts/secret.ts'
import { created, existing, nothing, ok, type Route, route } from '../../http/route.ts'
import type { Secrets } from '../../secrets/secrets.ts'
import { closed, listOf, okPage, pageQuery } from '../queries.ts'

export interface SecretServices {
  readonly secrets: Secrets
}

const tag = 'secrets'

export function secretRoutes({ secrets }: SecretServices): Route[] {
  const named = ({ params }: { params: { name: string } }): string => `secret:${params.name}`
  return [
    route({
      method: 'GET',
      path: '/secrets/',
      scope: 'admin',
      tag,
      summary: 'Lists the secrets by name, with the nodes that use them, and never a value.',
      query: Type.Object(pageQuery, closed),
      answers: { 200: listOf(Secret) },
      handle: async ({ query }) => okPage(await secrets.list(query), query.offset),
    }),
    route({
      method: 'PUT',
      path: '/secrets/{name}',
      scope: 'admin',
      object: 'any',
      tag,
      summary: 'Creates or replaces a secret. Nodes that use it get the new value at once.',
      params: { name: created(SecretName) },
      body: PutSecret,
      // A refusal by the schema would repeat what was sent.
      unchecked: ['value'],
      audit: { action: 'secret_set', object: named },
      answers: { 204: null },
      refuses: ['bad_secret', 'too_many_secrets', 'disk_full'],
      handle: async ({ params, body, caller }) => {
        await secrets.put(params.name, body.value, caller.actor)
        return nothing
      },
    }),
    route({
      method: 'DELETE',
      path: '/secrets/{name}',
      scope: 'admin',
      object: 'any',
      tag,
      summary: 'Removes a secret that no node uses.',
      params: { name: existing(SecretName, 'secret_not_found') },
      audit: { action: 'secret_deleted', object: named },
      answers: { 204: null },
      refuses: ['secret_in_use', 'disk_full'],
      handle: async ({ params }) => {
        await secrets.remove(params.name)
        return nothing
      },
    }),
    route({
      method: 'POST',
      path: '/secret-keys',
      scope: 'admin',
      tag,
      summary: 'Makes a new key and seals all secrets under it.',
      audit: { action: 'secrets_rekeyed', object: () => 'secrets' },
      answers: { 200: Rekeyed },
      refuses: ['disk_full'],
      handle: async () => ok({ count: await secrets.rekey() }),
    }),
  ]
}
