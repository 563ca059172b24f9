import type { RefuseAt } from '../../core/flow/check.ts'
import type { NormalNode } from '../../protocol/nouns/flow-document.ts'
import { agrees } from '../../protocol/values/dtype.ts'

/** What both types of node allow: their values pass through the lane's schedule, so nothing may take them elsewhere. */
export function checkTimed(node: NormalNode, refuse: RefuseAt): void {
  const { resources, timeout, device, isolation, ports, type } = node
  const { cpus, gpus, ram, env, flavor } = resources
  if (cpus !== null || gpus !== null || ram !== null || flavor !== null || Object.keys(env).length > 0)
    refuse('validation', 'resources', `a node of type ${type} declares no resources`)
  for (const [name, given] of Object.entries({ timeout, device, isolation }))
    if (given !== null) refuse('validation', name, `a node of type ${type} has no ${name}`)
  const value = ports.inputs.find(({ name }) => name === 'value')
  for (const [at, output] of ports.outputs.entries()) {
    if (output.rate_hz !== null)
      refuse(
        'validation',
        `ports.outputs[${at}].rate_hz`,
        `a node of type ${type} has no rate_hz: it has a time of its own`,
      )
    if (value !== undefined && !agrees(value.dtype, output.dtype))
      refuse(
        'dtype_mismatch',
        `ports.outputs[${at}].dtype`,
        `what comes in is ${value.dtype}, which is no ${output.dtype}`,
      )
  }
}
