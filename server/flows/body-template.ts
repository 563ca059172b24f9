import type { NormalNode } from '../../protocol/nouns/flow-document.ts'

/** What an editor shows for a node that has no body yet. */
export function templateOf(node: NormalNode): string {
  const inputs = node.ports.inputs.map(port => port.name).join(', ')
  const outputs = node.ports.outputs
    .map(port => `${/^[A-Za-z_]\w*$/.test(port.name) ? port.name : JSON.stringify(port.name)}: undefined`)
    .join(', ')
  return `export default ({ ${inputs} }, ctx) => {\n  return { ${outputs} }\n}\n`
}
