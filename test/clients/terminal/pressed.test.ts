import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Key, KeyName } from '../../../clients/terminal/device/keys.ts'
import { pressed, type Wish } from '../../../clients/terminal/pressed.ts'
import type { EngineState } from '../../../clients/terminal/state/engine-state.ts'
import { cursorIn, rowsOf, type View } from '../../../clients/terminal/view.ts'
import { boilerHouse, shownOf } from '../../kit/boiler-house.ts'

const named = (name: KeyName): Key => ({ type: 'key', name })

/** The view after these keys, of which names are in angle brackets: `jj<enter>`. */
function after(
  keys: string,
  view: Partial<View> = {},
  engine: EngineState = boilerHouse(),
): View & { wish: Wish | null } {
  let now = shownOf(engine, view).view
  let wish: Wish | null = null
  for (const word of keys.match(/<[a-z-]+>|./gu) ?? []) {
    const key: Key =
      word.length > 1 && word.startsWith('<') ? named(word.slice(1, -1) as KeyName) : { type: 'text', text: word }
    ;({ view: now, wish } = pressed(shownOf(engine, now), key))
  }
  return { ...now, wish }
}

describe('the cursor', () => {
  test('moves from flow to flow and ends at the ends', () => {
    assert.equal(after('j').cursor.flows, 'pump')
    assert.equal(after('jjjk').cursor.flows, 'vibration')
    assert.equal(after('<end>').cursor.flows, 'mail_report')
    assert.equal(after('<end><down><down>').cursor.flows, 'mail_report')
    assert.equal(after('<end><home><up>').cursor.flows, 'boiler')
    assert.equal(after('<page-down><page-up>').cursor.flows, 'boiler')
  })

  test('stays on its flow when the flows change places', () => {
    const engine = boilerHouse()
    const view = after('jj', {}, engine)
    const at = () => cursorIn(rowsOf('flows', shownOf(engine, view)), 'flows', view)
    assert.equal(at(), 2)
    engine.flows['host']!.activity!.down = 1
    engine.flows['pump']!.activity!.share = 0
    assert.equal(at(), 2 + 1 - 1)
    engine.flows['energy']!.activity!.errors = 1
    assert.equal(at(), 3)
  })

  test('is on the first flow again when its flow has gone', () => {
    const engine = boilerHouse()
    const view = after('jj', {}, engine)
    delete engine.flows['vibration']
    assert.equal(cursorIn(rowsOf('flows', shownOf(engine, view)), 'flows', view), 0)
  })

  test('goes round the parts, and nodes are one while they are open', () => {
    assert.deepEqual(
      ['', '<tab>', '<tab><tab>', '<tab><tab><tab>', '<tab><tab><tab><tab>', '<back-tab>'].map(
        keys => after(keys).part,
      ),
      ['flows', 'runs', 'issues', 'log', 'flows', 'log'],
    )
    assert.deepEqual([after('<enter><tab>').part, after('<enter><back-tab><tab>').part], ['runs', 'nodes'])
    assert.deepEqual(
      ['r', 'i', 'l', 'f'].map(key => after(key).part),
      ['runs', 'issues', 'log', 'flows'],
    )
  })

  test('in the log lets go of the newest line, and l follows it again', () => {
    assert.equal(after('l').cursor.log, undefined)
    assert.equal(after('lk').cursor.log, '3')
    assert.equal(after('lkl').cursor.log, undefined)
  })
})

describe('Enter', () => {
  test('opens a flow, Esc closes it', () => {
    const open = after('j<enter>')
    assert.deepEqual([open.isOpen, open.part, open.cursor.flows], [true, 'nodes', 'pump'])
    const closed = after('j<enter><escape>')
    assert.deepEqual([closed.isOpen, closed.part, closed.cursor.flows], [false, 'flows', 'pump'])
  })

  test('shows the whole text of a node, a run, a wait, an issue and a line of the log', () => {
    const text = (keys: string): string => {
      const { overlay } = after(keys)
      return [overlay!.title, ...overlay!.lines].join('\n')
    }
    assert.match(text('<enter><enter>'), /^boiler\.flame_cam\nnode_down\n/)
    assert.match(text('r<enter>'), /^forecast 0190f3c2-.*7c1e\n.*\n.*\n"svc runs show/)
    assert.match(text('r<end><enter>'), /Waits for 1 card\.\ngpu-1 0 by 7c1e, 1 by a9d0/)
    assert.match(text('i<enter>'), /^boiler\.flame_cam\nno frame for 14 s/)
    assert.match(text('l<enter>'), /^11:16:24 info detector\nb220 started/)
    assert.equal(after('i<enter><escape>').overlay, null)
    assert.equal(after('?<down><down>').overlay?.top, 2)
  })

  test('on nothing does nothing', () => {
    const empty = { ...boilerHouse(), flows: {}, runs: [], resources: null, log: [], logged: 0, nodes: null }
    for (const part of ['', 'r', 'i', 'l']) assert.equal(after(`${part}<enter><down>`, {}, empty).overlay, null)
  })
})

describe('the filter', () => {
  test('takes letters that are commands elsewhere, and is kept or cleared', () => {
    assert.deepEqual([after('/pq').filter, after('/pq').wish], ['pq', null])
    assert.deepEqual([after('/pump<enter>').filter, after('/pump<enter>').isFiltering], ['pump', false])
    assert.equal(after('/pump<enter>q').wish, 'leave')
    assert.equal(after('/pump<escape>').filter, '')
    assert.equal(after('/pump<enter><escape>').filter, '')
    assert.equal(after('/pump<backspace>').filter, 'pum')
    assert.equal(after('/a b<ctrl-w>').filter, 'a ')
    assert.equal(after('/a b<ctrl-u>').filter, '')
  })

  test('shows the flows with that in their names, whatever the case', () => {
    const { flows } = shownOf(boilerHouse(), after('/CAM'))
    assert.deepEqual(
      flows.map(({ name }) => name),
      ['gate_camera', 'loading_camera'],
    )
  })

  test('takes what is pasted as text; elsewhere it does nothing', () => {
    const paste: Key = { type: 'paste', text: 'pu\nmp q' }
    const shown = shownOf(boilerHouse(), { isFiltering: true })
    assert.equal(pressed(shown, paste).view.filter, 'pu mp q')
    const elsewhere = shownOf(boilerHouse())
    assert.deepEqual(pressed(elsewhere, paste), { view: elsewhere.view, wish: null })
  })
})

test('p pauses and goes on, s sorts, q and Ctrl-C leave from everywhere', () => {
  assert.deepEqual([after('p').paused_ms !== null, after('pp').paused_ms], [true, null])
  assert.deepEqual(
    ['', 's', 'ss', 'sss', 'ssss', 'sssss'].map(keys => after(keys).sort),
    ['need', 'name', 'rate', 'queue', 'p99', 'need'],
  )
  assert.deepEqual(
    ['q', '?q', '<enter>q'].map(keys => after(keys).wish),
    ['leave', 'leave', 'leave'],
  )
  for (const before of ['', '/', '?', 'p']) assert.equal(after(`${before}<ctrl-c>`).wish, 'interrupt', before)
  assert.deepEqual([after('<ctrl-z>').wish, after('<ctrl-l>').wish], ['suspend', 'redraw'])
})
