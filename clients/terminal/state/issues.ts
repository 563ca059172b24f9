import type { EngineState } from './engine-state.ts'

/** An issue as the dashboard lists it. */
export interface ShownIssue {
  /** The same issue has the same one, however often it is listed. */
  readonly id: string
  readonly flow: string
  /** The node, else the flow. */
  readonly source: string
  readonly isDown: boolean
  readonly text: string
  /** Milliseconds since 1970. */
  readonly since_ms: number | null
}

interface Issues {
  readonly issues: readonly ShownIssue[]
  readonly advice: number
}

/** By list of flows: another list has other issues, and the same one is asked several times for each screen. */
const known = new WeakMap<EngineState['flows'], Issues>()

/** Those that need a look, what is down first, then the newest; and how many pieces of advice there are. */
export function issuesOf({ flows }: EngineState): Issues {
  const found = known.get(flows) ?? listed(flows)
  known.set(flows, found)
  return found
}

function listed(flows: EngineState['flows']): Issues {
  const issues: ShownIssue[] = []
  let advice = 0
  for (const { name, issues: found } of Object.values(flows)) {
    for (const { code, advisory, message, node, since } of found) {
      if (advisory) {
        advice++
        continue
      }
      const source = node === null ? name : `${name}.${node}`
      const text = message.replace(`${source} reports itself down: `, '')
      const since_ms = since === null ? null : Date.parse(since)
      issues.push({ id: `${source} ${code}`, flow: name, source, isDown: code === 'node_down', text, since_ms })
    }
  }
  issues.sort((a, b) => Number(b.isDown) - Number(a.isDown) || (b.since_ms ?? 0) - (a.since_ms ?? 0))
  return { issues, advice }
}
