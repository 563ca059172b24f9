import type { RunSummary } from '../../../../protocol/nouns/run.ts'

type Inputs = Pick<RunSummary, 'inputs' | 'flow'>

/** The inputs that are not alike over the runs, by name; of a single run all of them. Large ones are not in a summary, so they count as alike. */
export function varyingInputs(runs: readonly Inputs[]): string[] {
  if (runs.length < 2) return Object.keys(runs[0]?.inputs ?? {})
  const seen = new Map<string, Set<string>>()
  for (const { inputs } of runs)
    for (const [name, value] of Object.entries(inputs)) {
      const values = seen.get(name)
      if (values === undefined) seen.set(name, new Set([JSON.stringify(value)]))
      else values.add(JSON.stringify(value))
    }
  const lacking = (name: string): boolean => runs.some(({ inputs }) => !(name in inputs))
  return [...seen].filter(([name, values]) => values.size > 1 || lacking(name)).map(([name]) => name)
}

/** What each run of a page shows of its inputs: those that vary over the runs of its flow on this page. */
export function shownInputs(runs: readonly (Inputs & { readonly id: string })[]): Map<string, [string, unknown][]> {
  const shown = new Map<string, [string, unknown][]>()
  for (const of_flow of Map.groupBy(runs, ({ flow }) => flow).values()) {
    const names = varyingInputs(of_flow)
    for (const { id, inputs } of of_flow)
      shown.set(
        id,
        names.flatMap((name): [string, unknown][] => (name in inputs ? [[name, inputs[name]]] : [])),
      )
  }
  return shown
}
