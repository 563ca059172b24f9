import Type, { type TProperties } from 'typebox'
import { limits } from '../limits.ts'
import { NAME_PATTERN, QUALIFIED_PATTERN } from '../names.ts'
import type { RefuseSetting, TileUses } from './tile-type.ts'

/** Settings that tiles have alike. */

export const closed = { additionalProperties: false }

/** Absent, or null, which is the default: what it means then is in the description. */
export const optional = <Schema extends Parameters<typeof Type.Union>[0][number]>(
  schema: Schema,
  more: { title: string; description: string; unit?: string },
) => Type.Optional(Type.Union([schema, Type.Null()], { default: null, ...more }))

const range = { minimum: -1e15, maximum: 1e15 }
export const bound = Type.Number(range)

export const title = Type.Optional(
  Type.String({
    maxLength: limits.TILE_TITLE_CHARACTERS,
    default: '',
    title: 'Title',
    description: 'Above the tile. The name of what it shows when empty.',
  }),
)
export const messageName = (title: string, description: string) =>
  Type.String({ pattern: QUALIFIED_PATTERN, title, description })
export const flowName = (title: string, description: string) =>
  Type.String({ pattern: NAME_PATTERN, title, description })

export const message = messageName('Message', 'What is shown: <flow>.<message>.')
export const publish = messageName('Publishes', 'The message that the control publishes: <flow>.<message>.')
export const shown = Type.Optional(
  messageName('Message', 'Where the present state is read, when it is another message than the one that is published.'),
)
export const unit = Type.Optional(
  Type.String({
    maxLength: limits.TILE_WORD_CHARACTERS,
    default: '',
    title: 'Unit',
    description: 'Behind the number.',
  }),
)
export const decimals = optional(Type.Integer({ minimum: 0, maximum: 12 }), {
  title: 'Decimals',
  description: 'How many are shown; as many as the size of the number asks for when null.',
})

/** The limits of what is well; outside of them the tile says so. */
export const wellLimits = {
  low: optional(bound, { title: 'Low limit', description: 'Below it the tile has an alarm border. None when null.' }),
  high: optional(bound, { title: 'High limit', description: 'Above it the tile has an alarm border. None when null.' }),
}
/** The scale of a gauge, or of a tank. */
export const scale = {
  min: Type.Optional(Type.Number({ ...range, default: 0, title: 'Least', description: 'Where the scale begins.' })),
  max: Type.Optional(Type.Number({ ...range, default: 100, title: 'Most', description: 'Where the scale ends.' })),
}
/** The axis of a chart. */
export const axis = {
  min: optional(bound, { title: 'Least', description: 'Where the axis begins; at the least value when null.' }),
  max: optional(bound, { title: 'Most', description: 'Where the axis ends; at the greatest value when null.' }),
}
export const span = Type.Optional(
  Type.Number({
    minimum: 1,
    maximum: limits.TILE_SPAN_S,
    default: 3_600,
    unit: 's',
    title: 'Span',
    description: 'How far back the curve goes: values of the history, then live ones.',
  }),
)
export const confirm = Type.Optional(
  Type.Boolean({ default: false, title: 'Confirm', description: 'Asks once more before it publishes.' }),
)

export const settingsOf = <Properties extends TProperties>(properties: Properties) =>
  Type.Object({ title, ...properties }, closed)

interface Bounded {
  readonly min?: number | null
  readonly max?: number | null
  readonly low?: number | null
  readonly high?: number | null
}

/** `min` is below `max`, `low` below `high`, and both limits lie on the scale. */
export function checkBounds(settings: Bounded, refuse: RefuseSetting, defaults: Bounded = {}): void {
  const { min, max, low, high } = { ...defaults, ...settings }
  if (isNumber(min) && isNumber(max) && max <= min) refuse('max', `must be more than min (${min}), not ${max}`)
  if (isNumber(low) && isNumber(high) && high <= low) refuse('high', `must be more than low (${low}), not ${high}`)
  for (const [name, limit] of [
    ['low', low],
    ['high', high],
  ] as const) {
    if (!isNumber(limit)) continue
    if (isNumber(min) && limit < min) refuse(name, `must be at least min (${min}), not ${limit}`)
    else if (isNumber(max) && limit > max) refuse(name, `must be at most max (${max}), not ${limit}`)
  }
}

const isNumber = (value: unknown): value is number => typeof value === 'number'

interface Control {
  readonly publish: string
  readonly message?: string
}

/** A control that draws the state of what it publishes. */
export const controlling = ({ publish: target, message: source = target }: Control): TileUses => ({
  reads: [source],
  publishes: [target],
  asks: [],
  media: [],
})
