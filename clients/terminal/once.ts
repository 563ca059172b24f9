import type { Output } from '../cli/output/output.ts'
import { table } from '../cli/output/table.ts'
import type { Address } from '../client/socket.ts'
import { counted, milliseconds, percent, perSecond } from './draw/figures.ts'
import { noteOf } from './draw/flows.ts'
import { Feed } from './feed.ts'
import { issuesOf } from './state/issues.ts'
import { needOf, orderedFlows } from './state/order.ts'
import { shortRun } from './state/waits.ts'
import { runRows } from './view.ts'

const LOOK_MS = 50

/** What the dashboard shows, once and as lines; or as one JSON document. */
export async function printOnce(find: () => Address, output: Output, asJson: boolean): Promise<void> {
  const failed = Promise.withResolvers<never>()
  const feed = await Feed.open({ find, name: '', onFailure: failed.reject })
  const { state } = feed
  const whole = async (): Promise<void> => {
    const isWhole = () =>
      state.resources !== null && Object.values(state.flows).every(({ activity }) => activity !== null)
    while (state.heard_ms === null || !isWhole()) await new Promise(resolve => setTimeout(resolve, LOOK_MS))
  }
  try {
    await Promise.race([whole(), failed.promise])
  } finally {
    feed.close()
  }
  const flows = orderedFlows(state, 'need', '')
  const { issues, advice } = issuesOf(state)
  const { url, version, per_s, cascades, runs } = state
  if (asJson) {
    const figures = flows.map(flow => ({
      ...flow.activity,
      flow: flow.name,
      enabled: flow.enabled,
      last_minute: flow.line,
    }))
    return output.json({
      url,
      version,
      per_s,
      cascades,
      flows: figures,
      runs,
      resources: state.resources,
      issues,
      advice,
    })
  }
  const live = flows.filter(({ enabled }) => enabled).length
  output.lines([
    `engine ${version} at ${url}: ${live} of ${flows.length} flows live, ${perSecond(per_s)}/s, cascades ${counted(cascades?.in_flight ?? 0)}`,
    '',
  ])
  output.table(
    table(
      flows,
      [
        { title: 'flow', cell: ({ name }) => name },
        { title: 'per s', align: 'right', cell: ({ activity }) => perSecond(activity!.per_s) },
        { title: 'p99 ms', align: 'right', cell: ({ activity }) => milliseconds(activity!.p99_s) },
        { title: 'queue', align: 'right', cell: ({ activity }) => percent(activity!.share) },
        { title: 'state', cell: flow => (needOf(flow) === 'normal' ? '' : noteOf(flow)) },
      ],
      output.width,
    ),
  )
  for (const { run, wait } of runRows(state)) {
    if (run !== null) output.raw(`run ${run.flow} ${shortRun(run.id)}: ${run.doing}`)
    if (wait !== null)
      output.raw(`${wait.flow} ${wait.run === null ? 'live' : shortRun(wait.run)} waits for ${wait.what}: ${wait.why}`)
  }
  for (const { source, text } of issues) output.raw(`issue ${source}: ${text}`)
}
