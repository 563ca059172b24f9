import { type QueryKey, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Loading } from './Loading.tsx'
import { Problem } from './Problem.tsx'

/** What is read from the engine: loading, refused, or shown. Read again every so many milliseconds when `again_ms` is given. */
export function Read<Data>({
  queryKey,
  read,
  again_ms,
  children,
}: {
  queryKey: QueryKey
  read: () => Promise<Data>
  again_ms?: number
  children: (data: Data) => ReactNode
}) {
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: read,
    ...(again_ms === undefined ? {} : { refetchInterval: again_ms }),
  })
  return (
    <>
      {error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data === undefined ? error === null && <Loading /> : children(data)}
    </>
  )
}
