import type { NormalNode } from '../../../protocol/nouns/flow-document.ts'
import type { Dtype } from '../../../protocol/values/dtype.ts'
import type { AnyNodeType } from '../node-type.ts'
import { cameraType } from './camera.ts'
import { codeNodeType } from './code.ts'
import { delayType } from './delay.ts'
import { httpType } from './http.ts'
import { httpPollType } from './http-poll.ts'
import { injectType } from './inject.ts'
import { linesType } from './lines.ts'
import { microphoneType } from './microphone.ts'
import { mqttInType } from './mqtt-in.ts'
import { mqttOutType } from './mqtt-out.ts'
import { triggerType } from './trigger.ts'
import { webhookType } from './webhook.ts'

/** Every type of node, in the order in which they are listed. A new type is a file of its own here, and a line. */
export const NODE_TYPES: readonly AnyNodeType[] = [
  codeNodeType,
  injectType,
  delayType,
  triggerType,
  httpType,
  httpPollType,
  webhookType,
  linesType,
  cameraType,
  microphoneType,
  mqttInType,
  mqttOutType,
]

const by_name = new Map(NODE_TYPES.map(type => [type.name, type]))

export const nodeTypeOf = (name: string): AnyNodeType | undefined => by_name.get(name)

/** Do nodes of the type leave their messages in an outbox, on their lane? */
export const hasOutbox = (name: string): boolean => name === mqttOutType.name

/** An artifact is sent as its bytes, which are read elsewhere. */
export const runsOnLane = ({ type, ports }: Pick<NormalNode, 'type' | 'ports'>): boolean =>
  hasOutbox(type) && !ports.inputs.some(({ name, dtype }) => name === 'value' && ARTIFACTS.has(dtype))

const ARTIFACTS: ReadonlySet<Dtype> = new Set<Dtype>(['artifact', 'image', 'audio', 'video'])

/** Does the connectors thread run nodes of the type? */
export const isConnector = (name: string): boolean => nodeTypeOf(name)?.place === 'connectors'

/** Does the node get its values from outside of the engine alone? In a batch run it does nothing, and its messages are given. */
export const isSource = ({ type, ports }: Pick<NormalNode, 'type' | 'ports'>): boolean => {
  const place = nodeTypeOf(type)?.place
  return (place === 'connectors' || place === 'front') && ports.inputs.length === 0
}
