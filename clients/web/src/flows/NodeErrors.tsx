import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { client } from '../engine/client.ts'
import { useMay } from '../engine/session.ts'
import { Age } from '../parts/Age.tsx'
import { Button } from '../parts/Button.tsx'
import { Problem } from '../parts/Problem.tsx'
import { Scroll } from '../parts/Scroll.tsx'

interface NodeErrorsProps {
  readonly name: string
  /** The body is tried again with these inputs; null where nothing can be tried. */
  readonly onTry: ((inputs: Readonly<Record<string, unknown>>) => void) | null
}

/** The last failed executions with their inputs. */
export function NodeErrors({ name, onTry }: NodeErrorsProps) {
  const mayPublish = useMay('publish')
  const queries = useQueryClient()
  const { data, error } = useQuery({ queryKey: ['node errors', name], queryFn: () => client.nodes.errors(name) })
  const acknowledge = useMutation({
    mutationFn: () => client.nodes.acknowledge(name),
    onSettled: () => queries.invalidateQueries({ queryKey: ['flow'] }),
  })
  return (
    <Scroll className="flow-tab" label="Failed executions">
      <div className="stack">
        {error !== null && <Problem error={error} />}
        {acknowledge.error !== null && <Problem error={acknowledge.error} />}
        {data?.count === 0 && <p className="muted">No execution has failed since the start.</p>}
        {data !== undefined && data.count > 0 && (
          <Button disabled={!mayPublish || acknowledge.isPending} onClick={() => acknowledge.mutate()}>
            I have seen them
          </Button>
        )}
        {data?.items.map(({ ts, message, inputs, stack }) => (
          <section key={ts} className="notice notice-error">
            <div className="grow">
              <p className="strong">{message}</p>
              <p className="small muted">
                <Age at={ts} /> ago
              </p>
              {stack != null && <pre className="well">{stack}</pre>}
              <pre className="well">{JSON.stringify(inputs, null, 1)?.slice(0, 20_000) ?? 'too large to keep'}</pre>
              {onTry !== null && isRecord(inputs) && (
                <Button onClick={() => onTry(inputs)}>Try again with this input</Button>
              )}
            </div>
          </section>
        ))}
      </div>
    </Scroll>
  )
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
