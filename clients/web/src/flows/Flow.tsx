import { useQuery } from '@tanstack/react-query'
import { useParams } from 'wouter'
import { client } from '../engine/client.ts'
import { Loading } from '../parts/Loading.tsx'
import { Problem } from '../parts/Problem.tsx'
import { Page } from '../shell/Page.tsx'

export default function Flow() {
  const { flow: name } = useParams<{ flow: string }>()
  const { data, error, refetch } = useQuery({ queryKey: ['flow', name], queryFn: () => client.flows.get(name) })
  return (
    <Page crumbs={[{ name: 'Flows', path: '/flows' }, name]}>
      {error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data === undefined ? error === null && <Loading /> : <pre className="well">{JSON.stringify(data, null, 1)}</pre>}
    </Page>
  )
}
