import type { Key, KeyName } from './device/keys.ts'
import { clock } from './draw/figures.ts'
import { KEYS } from './draw/keys.ts'
import { issuesOf } from './state/issues.ts'
import { logText } from './state/log-text.ts'
import { SORTS } from './state/order.ts'
import { cursorIn, logRows, type Overlay, PARTS, type Part, rowsOf, runRows, type Shown, type View } from './view.ts'

/** What a key asks for beside another view. */
export type Wish = 'leave' | 'interrupt' | 'suspend' | 'redraw'

export interface Pressed {
  readonly view: View
  readonly wish: Wish | null
}

const FILTER_MOST = 128
const PAGE = 10

/** What a key does. The view of before is not changed. */
export function pressed(shown: Shown, key: Key): Pressed {
  const { view } = shown
  if (key.type === 'key') {
    const wish = WISHES[key.name]
    if (wish !== undefined) return { view, wish }
  }
  if (view.isFiltering) return { view: filtering(view, key), wish: null }
  if (key.type === 'paste') return { view, wish: null }
  if (key.type === 'text' && key.text === 'q') return { view, wish: 'leave' }
  const name = key.type === 'text' ? LETTERS[key.text] : key.name
  if (view.overlay !== null) return { view: inOverlay(view, view.overlay, name), wish: null }
  if (name !== undefined) return { view: moved(shown, name), wish: null }
  return { view: key.type === 'text' ? commanded(shown, key.text) : view, wish: null }
}

const WISHES: Partial<Record<KeyName, Wish>> = {
  'ctrl-c': 'interrupt',
  'ctrl-z': 'suspend',
  'ctrl-l': 'redraw',
}
const LETTERS: Readonly<Record<string, KeyName>> = { k: 'up', j: 'down', g: 'home', G: 'end' }

function filtering(view: View, key: Key): View {
  const filtered = (filter: string): View => ({
    ...view,
    filter: [...filter].slice(0, FILTER_MOST).join(''),
    part: 'flows',
  })
  // A line end in what was put in ends nothing.
  if (key.type === 'paste') return filtered(view.filter + key.text.replace(/\p{Cc}+/gu, ' ').trim())
  if (key.type === 'text') return filtered(view.filter + key.text)
  switch (key.name) {
    case 'enter':
    case 'down':
    case 'up':
    case 'tab':
      return { ...view, isFiltering: false }
    case 'escape':
      return { ...filtered(''), isFiltering: false }
    case 'backspace':
      return filtered([...view.filter].slice(0, -1).join(''))
    case 'ctrl-u':
      return filtered('')
    case 'ctrl-w':
      return filtered(view.filter.replace(/\S+\s*$/, ''))
    default:
      return view
  }
}

function inOverlay(view: View, overlay: Overlay, name: KeyName | undefined): View {
  const scrolled = (by: number): View => {
    const top = Math.max(0, Math.min(overlay.lines.length * 4, overlay.top + by))
    return { ...view, overlay: { ...overlay, top } }
  }
  switch (name) {
    case 'up':
      return scrolled(-1)
    case 'down':
      return scrolled(1)
    case 'page-up':
      return scrolled(-PAGE)
    case 'page-down':
      return scrolled(PAGE)
    default:
      return { ...view, overlay: null }
  }
}

function moved(shown: Shown, name: KeyName): View {
  const { view } = shown
  const rows = rowsOf(view.part, shown)
  const to = (at: number): View => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, at))]
    return row === undefined ? view : { ...view, cursor: { ...view.cursor, [view.part]: row.id } }
  }
  const at = cursorIn(rows, view.part, view)
  switch (name) {
    case 'up':
      return to(at - 1)
    case 'down':
      return to(at + 1)
    case 'page-up':
      return to(at - PAGE)
    case 'page-down':
      return to(at + PAGE)
    case 'home':
      return to(0)
    case 'end':
      return to(rows.length - 1)
    case 'tab':
      return toPart(view, nextPart(view, 1))
    case 'back-tab':
      return toPart(view, nextPart(view, -1))
    case 'enter':
    case 'right':
      return opened(shown)
    case 'escape':
    case 'left':
      return back(view)
    default:
      return view
  }
}

/** Nodes are a part of their own only while they are open. */
function nextPart({ part, isOpen }: View, by: number): Part {
  const parts = PARTS.filter(each => each !== (isOpen ? 'flows' : 'nodes'))
  const at = parts.indexOf(part)
  return parts[(at + by + parts.length) % parts.length]!
}

const toPart = (view: View, part: Part): View => ({ ...view, part })

function back(view: View): View {
  if (view.part === 'nodes' || (view.isOpen && view.part === 'flows'))
    return { ...view, part: 'flows', isOpen: false, cursor: without(view, 'nodes') }
  if (view.part !== 'flows') return { ...view, part: view.isOpen ? 'nodes' : 'flows', cursor: without(view, 'log') }
  return { ...view, filter: '' }
}

function without({ cursor }: View, part: Part): View['cursor'] {
  const { [part]: _gone, ...rest } = cursor
  return rest
}

function commanded(shown: Shown, letter: string): View {
  const { view } = shown
  switch (letter) {
    case '/':
      return { ...view, isFiltering: true, isOpen: false, part: 'flows' }
    case 's':
      return { ...view, sort: SORTS[(SORTS.indexOf(view.sort) + 1) % SORTS.length]! }
    case 'p':
      return { ...view, paused_ms: view.paused_ms === null ? shown.now_ms : null }
    case 'f':
      return { ...view, part: 'flows', isOpen: false }
    case 'r':
      return toPart(view, 'runs')
    case 'i':
      return toPart(view, 'issues')
    case 'l':
      return { ...toPart(view, 'log'), cursor: view.part === 'log' ? without(view, 'log') : view.cursor }
    case '?':
      return { ...view, overlay: { title: 'keys', lines: KEYS, top: 0 } }
    default:
      return view
  }
}

/** A flow shows its nodes; of all else the whole text stands alone. */
function opened(shown: Shown): View {
  const { view, engine, flows } = shown
  const over = (title: string, lines: readonly string[]): View => ({ ...view, overlay: { title, lines, top: 0 } })
  const rows = rowsOf(view.part, shown)
  const at = cursorIn(rows, view.part, view)
  if (at < 0) return view
  switch (view.part) {
    case 'flows':
      return { ...view, isOpen: true, part: 'nodes', cursor: { ...without(view, 'nodes'), flows: flows[at]!.name } }
    case 'nodes': {
      const { id } = rows[at]!
      const flow = engine.nodes!.flow
      const issues = engine.flows[flow]?.issues.filter(({ node }) => node === id) ?? []
      const texts = issues.flatMap(({ code, advisory, message }) => [
        `${code}${advisory ? ' (advice)' : ''}`,
        message,
        '',
      ])
      return over(
        `${flow}.${id}`,
        texts.length > 0 ? texts : [`Nothing is wrong. "svc nodes show ${flow}.${id}" has more.`],
      )
    }
    case 'runs': {
      const { run, wait } = runRows(engine)[at]!
      if (wait !== null)
        return over(`${wait.flow} ${wait.run ?? 'live'}`, [`Waits for ${wait.what}.`, wait.why, `Since ${wait.since}.`])
      return over(`${run!.flow} ${run!.id}`, [
        `${run!.status}: ${run!.doing}`,
        `Started ${run!.started_at ?? run!.created_at}.`,
        `"svc runs show ${run!.id}" has more, "svc runs logs ${run!.id}" its log.`,
      ])
    }
    case 'issues': {
      const { source, text, since_ms } = issuesOf(engine).issues[at]!
      return over(source, [text, '', ...(since_ms === null ? [] : [`Since ${new Date(since_ms).toISOString()}.`])])
    }
    case 'log': {
      const event = engine.log[logRows(engine)[at]!.at]!
      const { level, source, text } = logText(event)
      return over(`${clock(Date.parse(event.ts))} ${level} ${source}`, [...text.split('\n'), '', JSON.stringify(event)])
    }
  }
}
