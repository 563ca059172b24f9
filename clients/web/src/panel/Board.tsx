/** @jsxImportSource preact */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Dashboard } from '../../../../protocol/nouns/dashboard.ts'
import type { OwnPanel } from '../../../../protocol/nouns/panel.ts'
import { Client } from '../../../client/client.ts'
import { ClientError } from '../../../client/client-error.ts'
import { BoardLive } from './board-live.ts'
import { placesOf } from './places.ts'
import { TileOf } from './tiles.tsx'

const AGAIN_MS = 5_000
const isEnded = (error: unknown): boolean => error instanceof ClientError && error.status === 401

interface BoardProps {
  readonly url: string
  readonly token: string
  /** The screen was unpaired: it is paired again. */
  onEnded(): void
}

/** The dashboards of a panel, the first of them first. Read again whenever the engine says that they have changed, and after each connection. */
export function Board({ url, token, onEnded }: BoardProps) {
  const [panel, setPanel] = useState<OwnPanel | null>(null)
  const [dashboard, setDashboard] = useState<Dashboard | null>(null)
  const [at, setAt] = useState(0)
  const [isOpen, setOpen] = useState(false)
  const [error, setError] = useState<string | null>(null)
  const [round, setRound] = useState(0)
  const client = useMemo(() => new Client({ url, token }), [url, token])
  const live = useMemo(
    () =>
      new BoardLive({
        ...{ url, token },
        onChanged: () => setRound(before => before + 1),
        onLink: setOpen,
        onFailure: failure => {
          if (isEnded(failure)) onEnded()
          else setTimeout(() => location.reload(), AGAIN_MS)
        },
      }),
    [url, token, onEnded],
  )
  useEffect(() => () => live.close(), [live])
  // biome-ignore lint/correctness/useExhaustiveDependencies: with each connection and each change it is read again
  useEffect(() => {
    let has_ended = false
    let timer: ReturnType<typeof setTimeout>
    const read = async (): Promise<void> => {
      try {
        const own = await client.panels.own()
        const chosen = own.dashboards[Math.min(at, own.dashboards.length - 1)]
        const read_one = chosen === undefined ? null : await client.dashboards.get(chosen.name)
        if (has_ended) return
        setPanel(own)
        setDashboard(read_one)
        setError(null)
      } catch (failure) {
        if (isEnded(failure)) return onEnded()
        setError(failure instanceof Error ? failure.message : String(failure))
        if (!has_ended) timer = setTimeout(() => void read(), AGAIN_MS)
      }
    }
    void read()
    return () => {
      has_ended = true
      clearTimeout(timer)
    }
  }, [client, at, round, isOpen])
  const width = innerWidth >= 1200 ? 'wide' : innerWidth >= 720 ? 'tablet' : 'phone'
  const tiles = dashboard?.document.tiles ?? []
  const places = placesOf(tiles, width)
  return (
    <div className="screen">
      <header className="bar">
        <h1>{dashboard?.name ?? panel?.name ?? 'Panel'}</h1>
        <nav className="panel-tabs" aria-label="Dashboards">
          {(panel?.dashboards.length ?? 0) > 1 &&
            panel?.dashboards.map(({ name }, index) => (
              <button
                key={name}
                type="button"
                className="touch"
                aria-pressed={index === at}
                onClick={() => setAt(index)}
              >
                {name}
              </button>
            ))}
        </nav>
        <p className={isOpen ? 'when' : 'when not-open'} role="status">
          {isOpen ? 'connected' : 'no connection'}
        </p>
      </header>
      {error !== null && (
        <p className="pairing-error" role="alert">
          {error}
        </p>
      )}
      {panel !== null && dashboard === null && error === null && (
        <p className="sub">This panel has no dashboard yet.</p>
      )}
      <main className={`wall wall-${width}`} id="main">
        {tiles.map((tile, index) => {
          const { x, y, width: columns, height } = places[index]!
          return (
            <div
              key={tile.id}
              className="place"
              style={{ gridColumn: `${x + 1} / span ${columns}`, gridRow: `${y + 1} / span ${height}` }}
            >
              <TileOf tile={tile} live={live} isLocked={dashboard!.is_locked} />
            </div>
          )
        })}
      </main>
    </div>
  )
}
