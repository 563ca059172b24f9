/** The public face of the SDK: flows that are declared in code. Other programs import it as `flow-engine/sdk`. */
export type { ArtifactReference, Dtype } from '../../protocol/values/dtype.ts'
export type { ArtifactContent, Context } from './context.ts'
export { type ComposedFlow, Flow, type FlowInputSpec, type FlowOptions } from './flow.ts'
export { type Answer, type AnyNode, type Node, type NodeDefinition, type NodeOptions, node } from './node.ts'
export type { DtypeValues, InputPorts, InputSpec, InputValues, OutputPorts, OutputSpec, OutputValues } from './ports.ts'
export { SdkError } from './sdk-error.ts'
export { type Use, type UseOptions, use } from './use.ts'
