import Type, { type Static } from 'typebox'
import { SecretName } from '../../protocol/nouns/accounts/secret.ts'
import { place } from '../../protocol/values/describe.ts'

/** The keyword by which an editor knows such a setting. */
export const SECRET_KEYWORD = 'x-secret'

const SecretReference = Type.Object({ secret: SecretName }, { additionalProperties: false })
export type SecretReference = Static<typeof SecretReference>

/** A text, or `{"secret": "<name>"}`: it is looked up where the node runs, and is never stored, logged or sent back. */
export const secretText = (
  options: { description: string } & Record<string, unknown>,
  text: { maxLength?: number; pattern?: string } = {},
) => Type.Union([Type.String({ maxLength: 4096, ...text }), SecretReference], { ...options, [SECRET_KEYWORD]: true })

/** Every reference to a secret in settings, with its place. */
export function secretsOf(value: unknown, loc: string): { name: string; loc: string }[] {
  if (typeof value !== 'object' || value === null) return []
  if (isReference(value)) return [{ name: value.secret, loc }]
  return Object.entries(value).flatMap(([key, member]) =>
    secretsOf(member, Array.isArray(value) ? `${loc}[${key}]` : place(loc, key)),
  )
}

/** The settings with each reference replaced by what it names. */
export function withSecrets(value: unknown, look: (name: string) => string): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (isReference(value)) return look(value.secret)
  if (Array.isArray(value)) return value.map(member => withSecrets(member, look))
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withSecrets(member, look)]))
}

function isReference(value: object): value is SecretReference {
  const keys = Object.keys(value)
  return keys.length === 1 && keys[0] === 'secret' && typeof (value as SecretReference).secret === 'string'
}
