import Type, { type Static } from 'typebox'
import type { NodeType, Rules } from '../../core/flow/check.ts'
import type { ErrorCode } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { NormalNode } from '../../protocol/nouns/flow-document.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'
import { createChecker } from '../../protocol/values/explain.ts'
import { nextCron } from './cron.ts'

/** The node type `inject`: publishes a fixed value once, at an interval, or by a cron expression. */
export const InjectSettings = Type.Object(
  {
    once: Type.Optional(
      Type.Boolean({ description: 'When the flow is saved or enabled, and when the engine starts.' }),
    ),
    every_s: Type.Optional(
      Type.Union([
        Type.Number({ minimum: limits.INJECT_EVERY_S_MIN, maximum: limits.INJECT_EVERY_S_MAX }),
        Type.Null(),
      ]),
    ),
    cron: Type.Optional(
      Type.Union([
        Type.String({
          maxLength: limits.CRON_CHARACTERS,
          description: 'Five fields, or six with seconds first, in TZ.',
        }),
        Type.Null(),
      ]),
    ),
    value: Type.Optional(Type.Unknown({ description: 'True, 0, "" or null when absent, by the dtype of the port.' })),
  },
  { additionalProperties: false },
)
export type InjectSettings = Static<typeof InjectSettings>

/** Settings with their defaults, as the timer reads them. */
export interface InjectPlan {
  once: boolean
  every_s: number | null
  cron: string | null
  value: unknown
}

const checker = createChecker(InjectSettings)

export function injectType(timezone: string, fits: Rules['fits']): NodeType {
  return {
    check(node, refuse) {
      const { inputs, outputs } = node.ports
      if (inputs.length > 0) refuse('validation', 'ports.inputs', 'an inject node has no input ports')
      if (outputs.length !== 1) refuse('validation', 'ports.outputs', 'an inject node has exactly one output port')
      if (node.source !== null) refuse('validation', 'source', 'an inject node has no source')
      const places = checker.refusals(node.settings, 'settings')
      for (const { loc, msg } of places) refuse('bad_settings', loc, msg)
      if (places.length === 0 && outputs.length === 1) checkSettings(node, outputs[0]!.dtype, timezone, fits, refuse)
      return null
    },
  }
}

function checkSettings(
  node: NormalNode,
  dtype: Dtype,
  timezone: string,
  fits: Rules['fits'],
  refuse: (code: ErrorCode, loc: string, msg: string) => void,
): void {
  const { once, every_s, cron, value } = injectPlan(node.settings, dtype)
  if (!once && every_s === null && cron === null)
    refuse('bad_settings', 'settings', 'set at least one of once (true), every_s and cron')
  if (cron !== null) {
    const fault = cronFault(cron, timezone)
    if (fault !== null) refuse('bad_cron', 'settings.cron', fault)
  }
  const misfit = fits(value, dtype)
  if (misfit) refuse(misfit.code, 'settings.value', misfit.text)
}

/** What an inject node does. Its settings were checked. */
export function injectPlan(settings: Record<string, unknown>, dtype: Dtype): InjectPlan {
  const { once = false, every_s = null, cron = null, value } = settings as InjectSettings
  return { once, every_s, cron, value: value === undefined ? DEFAULTS[dtype] : value }
}

/** A reference has no sensible default: null is refused by its dtype. */
const DEFAULTS: Readonly<Record<Dtype, unknown>> = {
  bool: true,
  int: 0,
  float: 0,
  str: '',
  json: null,
  image: null,
  audio: null,
  video: null,
  artifact: null,
}

/** Why the expression is invalid, or null. One that never fires (30 February) is invalid, too. */
function cronFault(expression: string, timezone: string): string | null {
  const fields = expression.trim().split(/\s+/)
  if (fields.length !== 5 && fields.length !== 6)
    return `"${expression}" has ${expression.trim() === '' ? 0 : fields.length} fields; five are needed, or six with seconds first`
  try {
    return nextCron(expression, timezone, Date.now()) === null ? `"${expression}" never comes` : null
  } catch (error) {
    return `"${expression}": ${(error as Error).message.replace(/^CronPattern: /, '')}`
  }
}
