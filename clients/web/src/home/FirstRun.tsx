import { useLocation } from 'wouter'
import { Button } from '../parts/Button.tsx'
import { Empty } from '../parts/Empty.tsx'

/** Where a newcomer begins: three ways on, the first of which shows real data within a minute. */
export function FirstRun({ flow }: { flow: string | null }) {
  const [, go] = useLocation()
  return (
    <section className="card">
      <Empty icon="flow" title={flow === null ? 'No flow runs yet' : `The flow ${flow} runs already`}>
        <p>
          {flow === null
            ? 'A flow is a set of nodes, wired together by messages. It wakes when something that it reads is published.'
            : 'Open it to see its data move. Change the body of a node, deploy it, and watch the change take effect.'}
        </p>
        <div className="row">
          {flow !== null && (
            <Button kind="main" onClick={() => go(`/flows/${encodeURIComponent(flow)}`)}>
              Open it
            </Button>
          )}
          {flow === null && (
            <p>
              Store one with <span className="mono">svc flows put</span>, or start the engine with{' '}
              <span className="mono">--example</span>.
            </p>
          )}
        </div>
      </Empty>
    </section>
  )
}
