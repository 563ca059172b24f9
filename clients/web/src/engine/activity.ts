import { useEffect, useState } from 'react'
import type { FlowActivity } from '../../../../protocol/socket/activity.ts'
import { live } from './live.ts'

/** The figures of all flows by name, once a second: for tables, of which React draws what has changed. */
export function useActivity(): ReadonlyMap<string, FlowActivity> {
  const [activity, setActivity] = useState<ReadonlyMap<string, FlowActivity>>(() => new Map())
  useEffect(
    () =>
      live.activity(({ flows }) => {
        if (flows.length > 0)
          setActivity(before => new Map([...before, ...flows.map(flow => [flow.flow, flow] as const)]))
      }),
    [],
  )
  return activity
}
