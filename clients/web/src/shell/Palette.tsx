import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import type { Found } from '../../../../protocol/nouns/search/found.ts'
import { client } from '../engine/client.ts'
import { useMay } from '../engine/session.ts'
import { Icon, type IconName } from '../parts/Icon.tsx'
import { Problem } from '../parts/Problem.tsx'
import { iconOfFound, pathOfFound } from './found.ts'
import { PLACES, SELDOM } from './places.ts'

const SHOWN = 12
const PAUSE_MS = 120

interface Choice {
  readonly key: string
  readonly icon: IconName
  readonly name: string
  readonly about: string
  readonly path: string
}

/** Finds every thing by its name or text, and leads to it. Arrows choose, Enter goes there, Escape closes. */
export function Palette({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const maySearch = useMay('admin')
  const [, go] = useLocation()
  const [text, setText] = useState('')
  const [asked, setAsked] = useState('')
  const [at, setAt] = useState(0)
  useEffect(() => dialog.current?.showModal(), [])
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text.trim()), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  const { data, error } = useQuery({
    queryKey: ['search', asked],
    queryFn: () => client.search(asked, SHOWN),
    enabled: maySearch && asked !== '',
  })
  const places = [...PLACES, ...SELDOM].filter(({ name }) => name.toLowerCase().includes(text.trim().toLowerCase()))
  const choices: Choice[] = [
    ...places.map(({ path, name, icon }) => ({ key: path, icon, name, about: 'page', path })),
    ...(asked === '' ? [] : (data?.found ?? [])).map((found: Found) => ({
      key: `${found.kind} ${found.name}`,
      icon: iconOfFound(found),
      name: found.kind === 'run' ? `${found.flow} ${found.name.slice(-4)}` : found.name,
      about: found.kind,
      path: pathOfFound(found),
    })),
  ]
  const chosen = Math.min(at, choices.length - 1)
  const open = (choice: Choice | undefined): void => {
    if (choice === undefined) return
    onClose()
    go(choice.path)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') setAt(Math.min(choices.length - 1, chosen + 1))
    else if (event.key === 'ArrowUp') setAt(Math.max(0, chosen - 1))
    else if (event.key === 'Enter') open(choices[chosen])
    else return
    event.preventDefault()
  }
  return (
    <dialog ref={dialog} className="dialog cmdk" aria-label="Find or do anything" onClose={onClose}>
      <div className="cmd-in">
        <Icon name="search" />
        <input
          className="cmd-text"
          role="combobox"
          aria-label="Find"
          aria-expanded={choices.length > 0}
          aria-controls="palette-choices"
          aria-activedescendant={choices[chosen] === undefined ? undefined : `palette-${chosen}`}
          autoComplete="off"
          value={text}
          onKeyDown={onKeyDown}
          onChange={event => {
            setText(event.target.value)
            setAt(0)
          }}
        />
        <kbd>Esc</kbd>
      </div>
      {error !== null && <Problem error={error} />}
      <div id="palette-choices" role="listbox" aria-label="Found" className="cmd-list">
        {choices.map(({ key, icon, name, about }, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus and takes the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the field names the active choice
          <div
            key={key}
            id={`palette-${index}`}
            role="option"
            className="cmd"
            aria-selected={index === chosen}
            onClick={() => open(choices[index])}
          >
            <Icon name={icon} />
            <span className="ink cut">{name}</span>
            <span className="muted small">{about}</span>
          </div>
        ))}
      </div>
      {choices.length === 0 && <p className="cmd-foot muted">Nothing has this in its name or text.</p>}
      {!maySearch && <p className="cmd-foot muted small">Only pages are found here: the search is for superusers.</p>}
    </dialog>
  )
}
