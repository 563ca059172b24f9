import type { FlowSummary } from '../../../../protocol/nouns/flow.ts'

/** One line of "Needs a look": trouble first, then advice, each in the order of names. */
export interface Attention {
  readonly key: string
  readonly flow: string
  /** Null: it is about the flow as a whole. */
  readonly node: string | null
  readonly kind: 'down' | 'error' | 'warn' | 'advice'
  readonly text: string
  readonly since: string | null
}

const ORDER = ['down', 'error', 'warn', 'advice'] as const

export function attentionOf(flows: readonly FlowSummary[]): Attention[] {
  const all = flows.flatMap(({ name, issues }) =>
    issues.map(({ code, advisory, message, node, since }, at): Attention => {
      const kind = advisory ? 'advice' : code === 'node_down' ? 'down' : code === 'node_error' ? 'error' : 'warn'
      return { key: `${name} ${at}`, flow: name, node, kind, text: message, since }
    }),
  )
  return all.sort(
    (a, b) =>
      ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind) ||
      a.flow.localeCompare(b.flow) ||
      (a.node ?? '').localeCompare(b.node ?? ''),
  )
}

/** What is wrong with a flow in one line; null when nothing is. */
export function troubleOf({ issues }: FlowSummary): { kind: Attention['kind']; text: string; nodes: string[] } | null {
  const real = issues.filter(({ advisory }) => !advisory)
  if (real.length === 0) return null
  const counted = (code: string): number => real.filter(issue => issue.code === code).length
  const [down, errors] = [counted('node_down'), counted('node_error')]
  const others = real.length - down - errors
  const parts = [
    down > 0 ? `${down} down` : '',
    errors > 0 ? `${errors} ${errors === 1 ? 'error' : 'errors'}` : '',
    others > 0 ? `${others} ${others === 1 ? 'issue' : 'issues'}` : '',
  ]
  const nodes = [...new Set(real.flatMap(({ node }) => (node === null ? [] : [node])))]
  const kind = down > 0 ? 'down' : errors > 0 ? 'error' : 'warn'
  return { kind, text: parts.filter(part => part !== '').join(', '), nodes }
}
