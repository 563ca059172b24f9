import Type, { type Static } from 'typebox'
import type { ErrorCode } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { NormalNode } from '../../../protocol/nouns/flow-document.ts'
import type { Dtype } from '../../../protocol/values/dtype.ts'
import { cronFault } from '../cron.ts'
import type { NodeTypeDefinition, SettingsCheck } from '../node-type.ts'

export const InjectSettings = Type.Object(
  {
    once: Type.Optional(
      Type.Boolean({
        default: false,
        title: 'Once',
        description: 'When the flow is saved or enabled, and when the engine starts.',
      }),
    ),
    every_s: Type.Optional(
      Type.Union(
        [Type.Number({ minimum: limits.INJECT_EVERY_S_MIN, maximum: limits.INJECT_EVERY_S_MAX }), Type.Null()],
        { default: null, unit: 's', title: 'Every', description: 'Time between two values.' },
      ),
    ),
    cron: Type.Optional(
      Type.Union(
        [
          Type.String({
            maxLength: limits.CRON_CHARACTERS,
          }),
          Type.Null(),
        ],
        { default: null, title: 'Cron', description: 'Five fields, or six with seconds first, in TZ.' },
      ),
    ),
    catch_up: Type.Optional(
      Type.Union([Type.Literal('skip'), Type.Literal('once')], {
        default: 'skip',
        title: 'Catch up',
        description:
          'After a start or an enable, `once` publishes one value for the occurrences that were missed meanwhile.',
      }),
    ),
    value: Type.Optional(
      Type.Unknown({ title: 'Value', description: 'True, 0, "" or null when absent, by the dtype of the port.' }),
    ),
  },
  { additionalProperties: false },
)
export type InjectSettings = Static<typeof InjectSettings>

/** Settings with their defaults, as the timer reads them. */
export interface InjectPlan {
  once: boolean
  every_s: number | null
  cron: string | null
  catch_up: 'skip' | 'once'
  value: unknown
}

/** Publishes a fixed value once, at an interval, or by a cron expression. */
export const injectType: NodeTypeDefinition<InjectSettings> = {
  name: 'inject',
  title: 'Inject',
  summary: 'Publishes a fixed value: once, at an interval, by a cron expression, or all of it.',
  settings: InjectSettings,
  inputs: { kind: 'none' },
  outputs: { kind: 'any', description: 'Exactly one: it gets the value.' },
  place: 'timer',
  side_effects: true,
  check({ node, refuse }, context) {
    const [output, second] = node.ports.outputs
    if (output === undefined || second !== undefined)
      return refuse('validation', 'ports.outputs', 'an inject node has exactly one output port')
    checkInject(node, output.dtype, context, refuse)
  },
}

function checkInject(
  node: NormalNode,
  dtype: Dtype,
  { timezone, fits }: SettingsCheck,
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
  const { once = false, every_s = null, cron = null, catch_up = 'skip', value } = settings as InjectSettings
  return { once, every_s, cron, catch_up, value: value === undefined ? DEFAULTS[dtype] : value }
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
