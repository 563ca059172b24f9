import { useEffect, useRef, useState } from 'react'
import type { RunLogLine } from '../../../../protocol/nouns/run-log.ts'
import { client } from '../engine/client.ts'
import { Card } from '../parts/Card.tsx'
import { Problem } from '../parts/Problem.tsx'
import { Scroll } from '../parts/Scroll.tsx'

/** So many are kept in the page, the newest; the rest is in the engine. */
const LINES = 2_000
const GATHER_MS = 100

/** What the bodies of a run said, followed while it runs. Stays at the end as long as nobody scrolls up. */
export function RunLog({ run }: { run: string }) {
  const [lines, setLines] = useState<readonly RunLogLine[]>([])
  const [error, setError] = useState<unknown>(null)
  const [isFollowing, setFollowing] = useState(true)
  const box = useRef<HTMLElement>(null)
  const isAtEnd = useRef(true)
  useEffect(() => {
    const ending = new AbortController()
    let gathered: RunLogLine[] = []
    const show = (): void => {
      const come = gathered
      gathered = []
      if (come.length > 0) setLines(before => [...before, ...come].slice(-LINES))
    }
    const timer = setInterval(show, GATHER_MS)
    const read = async (): Promise<void> => {
      try {
        for await (const line of client.runs.followLog(run, {}, { signal: ending.signal })) {
          gathered.push(line)
          if (gathered.length > LINES) gathered = gathered.slice(-LINES)
        }
      } catch (failure) {
        if (!ending.signal.aborted) setError(failure)
      }
      show()
      setFollowing(false)
      clearInterval(timer)
    }
    void read()
    return () => {
      ending.abort()
      clearInterval(timer)
    }
  }, [run])
  // biome-ignore lint/correctness/useExhaustiveDependencies: with each line that comes
  useEffect(() => {
    if (isAtEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight
  }, [lines])
  if (lines.length === 0 && error === null && !isFollowing) return null
  return (
    <Card title="Log" count={lines.length} end={isFollowing ? <span className="muted small">follows</span> : undefined}>
      {error !== null && <Problem error={error} />}
      <Scroll
        ref={box}
        className="r-log mono small"
        role="log"
        label="Log of the run"
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          isAtEnd.current = scrollTop + clientHeight > scrollHeight - 40
        }}
      >
        {lines.map(({ seq, ts, node, level, text }) => (
          <p key={seq} className={level === 'error' ? 's-failed' : undefined}>
            <span className="muted">
              {ts.slice(11, 23)} {node}
            </span>{' '}
            {text}
          </p>
        ))}
      </Scroll>
    </Card>
  )
}
