import type { SavedFlow } from '../../../protocol/nouns/flow.ts'
import { differenceLines } from '../commands/flows/history.ts'
import type { SyncDifference, SyncPlan } from '../sync/plan.ts'
import type { Output } from './output.ts'
import { fit, printable } from './text.ts'

const VALUE_COLUMNS = 60

/** What a sync would change, flow by flow and node by node. */
export function printPlan(output: Output, plan: SyncPlan): void {
  const { name, file, version, differences, isChanged } = plan
  const state = version === 0 ? 'new' : isChanged ? `changes version ${version}` : 'unchanged'
  output.lines([`${output.style('bold', name)}  ${state} (${printable(file)})`])
  const seen = new Set<string>()
  for (const difference of differences) {
    const about = aboutOf(plan, difference)
    if (!seen.has(about)) output.lines([styled(output, about)])
    seen.add(about)
    if (difference.field !== null) output.lines(fieldLines(difference).map(line => styled(output, line)))
  }
  if (isChanged && differences.length === 0) output.lines(['  ~ where it comes from'])
}

/** What a sync did to one flow. */
export function printSynced(output: Output, saved: SavedFlow): void {
  const part = (what: string, nodes: readonly string[]) => (nodes.length === 0 ? [] : [`${what} ${nodes.join(', ')}`])
  const nodes = [...part('restarted', saved.restarted), ...part('kept', saved.kept)]
  output.lines([`${saved.name}  version ${saved.version}${nodes.length > 0 ? `: ${nodes.join('; ')}` : ''}`])
  for (const { code, node, message } of saved.issues)
    output.note(`${saved.name}${node === null ? '' : `.${node}`}: ${message} (${code})`)
}

function aboutOf({ places }: SyncPlan, { node, input, field, before }: SyncDifference): string {
  const sign = field !== null ? '~' : before === undefined ? '+' : '-'
  if (input !== null) return `  ${sign} input ${input}`
  if (node === null) return '  ~ flow'
  return `  ${sign} ${node}${sign === '+' ? ` (${printable(places[node]!.file)})` : ''}`
}

function fieldLines(difference: SyncDifference): string[] {
  const { field, before, after } = difference
  if (field === 'source')
    return [`      source:`, ...differenceLines({ path: '', before, after }).map(line => `        ${printable(line)}`)]
  const value = (side: 'before' | 'after') =>
    side in difference ? fit(printable(JSON.stringify(difference[side])), VALUE_COLUMNS) : 'nothing'
  return [`      ${printable(field!)}: ${value('before')} -> ${value('after')}`]
}

function styled(output: Output, line: string): string {
  const sign = line.trimStart()[0]
  return sign === '+' ? output.style('green', line) : sign === '-' ? output.style('red', line) : line
}
