import Type, { type Static } from 'typebox'
import { NAME_PATTERN } from '../names.ts'

/** A named size that nodes ask for in place of numbers. */

const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([schema, Type.Null()])

const amounts = {
  cpus: orNull(Type.Number({ exclusiveMinimum: 0, maximum: 4096 })),
  gpus: orNull(Type.Integer({ minimum: 0, maximum: 1024, description: 'Whole cards.' })),
  ram: orNull(Type.Number({ exclusiveMinimum: 0, maximum: 1e9, description: 'MB' })),
  duration_s: orNull(Type.Number({ minimum: 0, maximum: 31_536_000, description: 'The expected time; not a limit.' })),
}
export const FlavorName = Type.String({ pattern: NAME_PATTERN })

export const Flavor = Type.Object({ name: FlavorName, ...amounts })
export type Flavor = Static<typeof Flavor>

export const PutFlavor = Type.Object(
  {
    cpus: Type.Optional(amounts.cpus),
    gpus: Type.Optional(amounts.gpus),
    ram: Type.Optional(
      orNull(Type.Union([amounts.ram, Type.String({ maxLength: 16, description: 'A size such as 2G.' })])),
    ),
    duration_s: Type.Optional(amounts.duration_s),
  },
  { additionalProperties: false },
)
export type PutFlavor = Static<typeof PutFlavor>
