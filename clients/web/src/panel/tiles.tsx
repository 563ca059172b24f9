/** @jsxImportSource preact */
import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Tile } from '../../../../protocol/nouns/dashboard.ts'
import type { MediaFrame } from '../../../client/live/media.ts'
import { ageText, numberText, valueText } from '../parts/format.ts'
import type { BoardLive } from './board-live.ts'

interface TileProps {
  readonly tile: Tile
  readonly live: BoardLive
  /** Panels may not publish now. */
  readonly isLocked: boolean
}

const AGAIN_MS = 1_000
const settingOf = <Value,>(tile: Tile, name: string, otherwise: Value): Value =>
  (tile.settings[name] as Value | null | undefined) ?? otherwise
const messageOf = (tile: Tile): string => settingOf(tile, 'message', '')
const titleOf = (tile: Tile, shown = messageOf(tile)): string =>
  settingOf(tile, 'title', '') || shown.slice(shown.indexOf('.') + 1) || tile.id

/** A tile with its title, and the age of what it shows; grey when that is stale, and the word "down" when nothing good comes. */
function Frame({
  tile,
  live,
  className = '',
  children,
}: Omit<TileProps, 'isLocked'> & { className?: string; children: ComponentChildren }) {
  const box = useRef<HTMLElement>(null)
  const age = useRef<HTMLSpanElement>(null)
  const name = messageOf(tile)
  useEffect(() => {
    if (name === '') return
    const write = (): void => {
      if (box.current === null || age.current === null) return
      const { value, down, fresh } = live.seen(name)
      const is_down = down !== null
      box.current.classList.toggle('is-down', is_down)
      box.current.classList.toggle('is-old', !is_down && fresh.isStale(Date.now()))
      age.current.textContent = is_down
        ? `down${down.since === null ? '' : ` ${ageText((Date.now() - Date.parse(down.since)) / 1000)}`}`
        : value === null
          ? 'no value yet'
          : ageText((Date.now() - Date.parse(value.ts)) / 1000)
    }
    const end = live.draw(name, write)
    const timer = setInterval(write, AGAIN_MS)
    return () => {
      end()
      clearInterval(timer)
    }
  }, [name, live])
  return (
    <section ref={box} className={`pt ${className}`}>
      <header>
        <h2>{titleOf(tile)}</h2>
        <span ref={age} />
      </header>
      {children}
    </section>
  )
}

/** Writes the newest value of the tile's message into an element, whenever it changes. */
function useNewest(
  tile: Tile,
  live: BoardLive,
  element: RefObject<HTMLElement>,
  write: (element: HTMLElement, value: unknown) => void,
): void {
  const writing = useRef(write)
  writing.current = write
  const name = messageOf(tile)
  useEffect(
    () =>
      name === ''
        ? undefined
        : live.draw(name, () => {
            const { value } = live.seen(name)
            if (element.current !== null && value !== null) writing.current(element.current, value.value)
          }),
    [name, live, element],
  )
}

const figureOf = (tile: Tile, value: unknown): string =>
  typeof value === 'number'
    ? numberText(value, settingOf(tile, 'decimals', 2))
    : valueText(value, 40).replace(/^“|”$/g, '')

/** Is a number beyond the limits of its tile? */
export function isAlarm(tile: Tile, value: unknown): boolean {
  if (typeof value !== 'number') return false
  return value < settingOf(tile, 'low', -Infinity) || value > settingOf(tile, 'high', Infinity)
}

function Value({ tile, live }: TileProps) {
  const figure = useRef<HTMLSpanElement>(null)
  useNewest(tile, live, figure, (element, value) => {
    element.textContent = figureOf(tile, value)
    element.closest('.pt')?.classList.toggle('is-alarm', isAlarm(tile, value))
  })
  return (
    <Frame tile={tile} live={live}>
      <p className="pf">
        <span ref={figure} className="figure-of">
          –
        </span>
        <span className="unit-of">{settingOf(tile, 'unit', '')}</span>
      </p>
    </Frame>
  )
}

function Level({ tile, live }: TileProps) {
  const figure = useRef<HTMLSpanElement>(null)
  const fill = useRef<HTMLElement>(null)
  const [least, most] = [settingOf(tile, 'min', 0), settingOf(tile, 'max', 100)]
  useNewest(tile, live, figure, (element, value) => {
    element.textContent = figureOf(tile, value)
    element.closest('.pt')?.classList.toggle('is-alarm', isAlarm(tile, value))
    const share = typeof value === 'number' ? Math.max(0, Math.min(1, (value - least) / (most - least))) : 0
    if (fill.current !== null) fill.current.style.width = `${share * 100}%`
  })
  return (
    <Frame tile={tile} live={live}>
      <p className="pf">
        <span ref={figure} className="figure-of">
          –
        </span>
        <span className="unit-of">{settingOf(tile, 'unit', '')}</span>
      </p>
      <div className="level">
        <i ref={fill} />
      </div>
      <p className="range">
        <span>{numberText(least)}</span>
        <span>{numberText(most)}</span>
      </p>
    </Frame>
  )
}

/** Frames of a camera, drawn as they come: the newest one waits while another is decoded, and those between are passed over. */
function Image({ tile, live }: TileProps) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const name = messageOf(tile)
  useEffect(() => {
    let waiting: MediaFrame | null = null
    let is_decoding = false
    let has_ended = false
    const draw = async (): Promise<void> => {
      is_decoding = true
      while (waiting !== null && !has_ended) {
        const { bytes, media_type } = waiting
        waiting = null
        try {
          const bitmap = await createImageBitmap(new Blob([bytes as Uint8Array<ArrayBuffer>], { type: media_type }))
          const to = canvas.current
          if (to !== null) {
            if (to.width !== bitmap.width) to.width = bitmap.width
            if (to.height !== bitmap.height) to.height = bitmap.height
            to.getContext('2d')?.drawImage(bitmap, 0, 0)
          }
          bitmap.close()
        } catch {
          // What is no picture leaves the last one, whose age goes on.
        }
      }
      is_decoding = false
    }
    const end = live.frames(name, frame => {
      waiting = frame
      if (!is_decoding) void draw()
    })
    return () => {
      has_ended = true
      end()
    }
  }, [name, live])
  return (
    <Frame tile={tile} live={live} className="pic">
      <canvas
        ref={canvas}
        className={settingOf<string>(tile, 'fit', 'contain') === 'cover' ? 'picture cover' : 'picture'}
      />
    </Frame>
  )
}

function Text({ tile, live }: TileProps) {
  return (
    <Frame tile={tile} live={live}>
      <p className="sub panel-text">{settingOf(tile, 'text', '')}</p>
    </Frame>
  )
}

function Clock({ tile, live }: TileProps) {
  const [now, setNow] = useState(() => new Date())
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), AGAIN_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <Frame tile={tile} live={live}>
      <p className="pf">{now.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}</p>
      <p className="sub">{now.toLocaleDateString()}</p>
    </Frame>
  )
}

/** A control: what it publishes, and what came of it. */
function useControl({ tile, live }: TileProps): { error: string | null; publish: (value: unknown) => void } {
  const [error, setError] = useState<string | null>(null)
  const publish = (value: unknown): void => {
    live.publish(settingOf(tile, 'publish', ''), value).then(
      () => setError(null),
      failure => setError(failure instanceof Error ? failure.message : String(failure)),
    )
  }
  return { error, publish }
}

function Refusal({ error, isLocked }: { error: string | null; isLocked: boolean }) {
  if (error !== null)
    return (
      <p className="sub refusal" role="alert">
        {error}
      </p>
    )
  return isLocked ? <p className="sub">locked</p> : null
}

function Button(props: TileProps) {
  const { tile, live, isLocked } = props
  const { error, publish } = useControl(props)
  return (
    <Frame tile={tile} live={live}>
      <button
        type="button"
        className="touch"
        disabled={isLocked}
        onClick={() => publish('value' in tile.settings ? tile.settings['value'] : true)}
      >
        {settingOf(tile, 'label', '') || titleOf(tile, settingOf(tile, 'publish', ''))}
      </button>
      <Refusal error={error} isLocked={isLocked} />
    </Frame>
  )
}

function Switch(props: TileProps) {
  const { tile, live, isLocked } = props
  const { error, publish } = useControl(props)
  const button = useRef<HTMLButtonElement>(null)
  const on = 'on' in tile.settings ? tile.settings['on'] : true
  const off = 'off' in tile.settings ? tile.settings['off'] : false
  useNewest(tile, live, button, (element, value) => {
    const is_on = JSON.stringify(value) === JSON.stringify(on)
    element.setAttribute('aria-pressed', String(is_on))
    element.textContent = is_on ? 'on' : 'off'
  })
  return (
    <Frame tile={tile} live={live}>
      <button
        ref={button}
        type="button"
        className="touch"
        aria-pressed="false"
        disabled={isLocked}
        onClick={event => publish(event.currentTarget.getAttribute('aria-pressed') === 'true' ? off : on)}
      >
        off
      </button>
      <Refusal error={error} isLocked={isLocked} />
    </Frame>
  )
}

function Slider(props: TileProps) {
  const { tile, live, isLocked } = props
  const { error, publish } = useControl(props)
  const input = useRef<HTMLInputElement>(null)
  useNewest(tile, live, input, (element, value) => {
    if (typeof value === 'number' && document.activeElement !== element)
      (element as HTMLInputElement).value = String(value)
  })
  return (
    <Frame tile={tile} live={live}>
      <input
        ref={input}
        type="range"
        className="slider"
        aria-label={titleOf(tile)}
        disabled={isLocked}
        min={settingOf(tile, 'min', 0)}
        max={settingOf(tile, 'max', 100)}
        step={settingOf(tile, 'step', 1)}
        onChange={event => publish(Number(event.currentTarget.value))}
      />
      <Refusal error={error} isLocked={isLocked} />
    </Frame>
  )
}

/** Of a type that this page does not draw: said, not left out. */
function Other({ tile, live }: TileProps) {
  return (
    <Frame tile={tile} live={live}>
      <p className="sub">This screen does not draw tiles of type “{tile.type}” yet.</p>
    </Frame>
  )
}

const TILES: Readonly<Record<string, (props: TileProps) => ComponentChildren>> = {
  ...{ value: Value, gauge: Level, level: Level, image: Image, text: Text, clock: Clock },
  ...{ button: Button, switch: Switch, slider: Slider },
}

export function TileOf(props: TileProps) {
  const Drawn = TILES[props.tile.type] ?? Other
  return <Drawn {...props} />
}
