import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { Link, useRoute } from 'wouter'
import { client } from '../engine/client.ts'
import { signOut, useSession } from '../engine/session.ts'
import { IconButton } from '../parts/Button.tsx'
import { durationText } from '../parts/format.ts'
import { Icon } from '../parts/Icon.tsx'
import { LinkState } from './LinkState.tsx'
import { Palette } from './Palette.tsx'
import { MORE, PLACES, type Place, SELDOM } from './places.ts'
import { nextTheme, themeOf } from './theme.ts'

/** The rail, the top bar and, on a phone, the bar at the bottom; the pages stand within. */
export function Shell({ children }: { children: ReactNode }) {
  const user = useSession(state => state.user)
  const [theme, setTheme] = useState(themeOf)
  // Pages put their crumbs in here, so that it has to stand before they do.
  const [top, setTop] = useState<HTMLElement | null>(null)
  const [isCanvas] = useRoute('/flows/:flow/*?')
  const [isFinding, setFinding] = useState(false)
  useEffect(() => {
    const heed = (event: KeyboardEvent): void => {
      if (event.key !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      setFinding(true)
    }
    addEventListener('keydown', heed)
    return () => removeEventListener('keydown', heed)
  }, [])
  return (
    <div className={`app ${isCanvas ? 'rail-small' : ''}`}>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <nav className="rail" aria-label="Main">
        <Link className="rail-head" href="/" title="Home">
          <Icon name="flow" />
          <span className="cut">Flow engine</span>
        </Link>
        <RailList places={PLACES} />
        <RailList places={SELDOM} />
        <RailFoot />
      </nav>
      <header className="top">
        <div id="crumbs" className="row grow" ref={setTop} />
        <LinkState />
        <button type="button" className="top-search" onClick={() => setFinding(true)}>
          <Icon name="search" />
          <span className="only-wide">Find or do anything</span> <kbd className="only-wide">Ctrl K</kbd>
          <span className="sr">Find</span>
        </button>
        <IconButton icon="theme" label={`Theme: ${theme}`} onClick={() => setTheme(nextTheme())} />
        <IconButton icon="user" label={`Signed in as ${user?.name}; sign out`} onClick={() => void signOut()} />
      </header>
      {top !== null && children}
      {isFinding && <Palette onClose={() => setFinding(false)} />}
      <nav className="bottom-bar" aria-label="Main, narrow">
        {[...PLACES.slice(0, 4), MORE].map(place => (
          <BottomItem key={place.path} place={place} />
        ))}
      </nav>
    </div>
  )
}

function RailList({ places }: { places: readonly Place[] }) {
  return (
    <ul className="rail-list">
      {places.map(place => (
        <li key={place.path}>
          <RailItem place={place} />
        </li>
      ))}
    </ul>
  )
}

function RailItem({ place: { path, name, icon } }: { place: Place }) {
  const [isHere] = useRoute(path === '/' ? '/' : `${path}/*?`)
  return (
    <Link className="rail-item" href={path} title={name} aria-current={isHere ? 'page' : undefined}>
      <Icon name={icon} />
      <span>{name}</span>
    </Link>
  )
}

function BottomItem({ place: { path, name, icon } }: { place: Place }) {
  const [isHere] = useRoute(path === '/' ? '/' : `${path}/*?`)
  return (
    <Link href={path} aria-current={isHere ? 'page' : undefined}>
      <Icon name={icon} />
      {name}
    </Link>
  )
}

function RailFoot() {
  const { data } = useQuery({ queryKey: ['summary'], queryFn: () => client.status(), refetchInterval: 10_000 })
  if (data === undefined) return null
  return (
    <div className="rail-foot">
      engine {data.version}
      <br />
      up {durationText(data.uptime_s)}
    </div>
  )
}
