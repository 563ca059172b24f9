import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { columns } from '../../../clients/cli/output/text.ts'
import { drawScreen, type Size } from '../../../clients/terminal/draw/screen.ts'
import { listFlows } from '../../../clients/terminal/state/engine-state.ts'
import type { Shown, View } from '../../../clients/terminal/view.ts'
import { boilerHouse, shownOf, textOf } from '../../kit/boiler-house.ts'
import { seed } from '../../kit/random.ts'

const SMALL = { columns: 80, rows: 24 }
const LARGE = { columns: 120, rows: 40 }

const linesOf = (shown: Shown, size: Size = SMALL): string[] =>
  drawScreen(shown, size).map(line => textOf(line).trimEnd())
const drawn = (view: Partial<View> = {}, size: Size = SMALL): string[] => linesOf(shownOf(boilerHouse(), view), size)
const stylesOf = (shown: Shown, text: string) =>
  drawScreen(shown, SMALL)
    .flat()
    .find(each => each.text.includes(text))?.style

test('80 columns by 24 rows have everything, what needs a look on top', () => {
  assert.deepEqual(drawn(), [
    ' boiler-house  0.1.5  http://127.0.0.1:8700              up 41 d 6 h   11:16:24',
    ' 11 of 12 live   27 411/s   runs 4 of 4   waiting 1   ▼ 1 down   ■ 1 failed',
    '─ flows 12 ─────────────────────────────────────────────────────────────── 1–7 ─',
    '   name             per s  last minute          p99 ms  queue  note',
    '›▼ boiler           412.6  ▇▇▇▇▇▇▇▇▇▇███▇▇▆▆▆▆▆   0.31    4 %  1 down, 1 failed',
    ' ▲ pump             1 204  ▅▅▅▅▅▅▅▅▆▆█▇█▇██████   0.27   62 %  fills',
    ' · vibration       25 613  ▇▇▇████████▇████████   0.21    8 %',
    ' · conveyor          96.4  ▇▇▆▆▇▅▆▆▆█▇▇▆▅▆▆▅▆▄▄   0.18    1 %',
    ' · cooling           48.0  █▇▇▇▇█▇▇▇▇▇▇▇▇▆▇▇▇▇▇   0.12    0 %',
    ' · gate_camera       24.9  ████████████████████   6.80    3 %',
    ' · machine           20.0  █████████▇▇█████████   0.08    0 %',
    '─ runs 4, waiting 1 ────────────────────────────────────────────────────────────',
    ' ◐ forecast  7c1e  ███████████████▋░░░░░░░░  65 %  train                  6 min',
    ' ◐ forecast  a9d0  ██████████▏░░░░░░░░░░░░░  42 %  train                 19 min',
    ' ◐ forecast  a9d4  ████████████████████▉░░░  87 %  evaluate               1 min',
    ' ◐ detector  b220  ██████████████████████▏░  92 %  score                    2 s',
    ' ⧗ forecast  b3f1  waits 3 m 12 s for 1 card: gpu-1 0 by 7c1e, 1 by a9d0',
    '─ issues 2 ───────────────────────────────────────────────── 1 piece of advice ─',
    ' ▼ boiler.flame_cam  no frame for 14 s; camera does not answer             14 s',
    ' ■ boiler.alarm      level is null, line 12                               2 min',
    '─ log ──────────────────────────────────────────────────────────────── follows ─',
    ' 11:16:21 warn  boiler.flame_cam  ffmpeg ended with 1, next try in 8 s',
    ' 11:16:24 info  detector          b220 started',
    ' ↑↓ move  ⏎ open  / filter  s sort  p pause  tab next part  ? keys  q leave',
  ])
})

test('120 columns have two, with the nodes of the flow under the cursor, and the machines', () => {
  const lines = drawn({}, LARGE)
  assert.equal(lines.length, 40)
  assert.deepEqual(lines.slice(14, 25), [
    ' · weather            0.2  ▇█▆▆▅▆▅▄▄▄▆▇▆▇█▅    212    0 %                   │─ issues 2 ────────────────────────────────',
    ' ‖ mail_report          0  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁      –    0 %  disabled by ada  │ ▼ boiler.flame_cam                   14 s',
    '─ boiler ───────────────────────────────── 15 nodes, 2 of them need a look ─│   no frame for 14 s; camera does not …',
    '   node             per s  last 48 s        p99 ms         state            │ ■ boiler.alarm                      2 min',
    ' ▼ flame_cam            0                        –         down 14 s        │   level is null, line 12',
    ' ■ alarm             30.1  █████████████▇▇▇   0.07         failed 2 min ago │ ○ and 1 piece of advice',
    ' · plc               40.2  ▇██▇▇▇▇████▇▇███   0.04                          │─ machines ────────────────────────────────',
    ' · efficiency        10.0  ██▇▇▇▇▇▇▇█████▇▇   23.0                          │ local  cores █████░░░░░░░░░       5 of 14',
    ' · smooth            10.0  ▇▇▇██▇▇▇▇▇▇█████   0.06                          │        ram   ████▎░░░░░░░░░   9.8 of 32 G',
    ' · keep               0.4  ▂▃▇▅▃▅▆█▅▆▇▃▂▂▂▁   4.10                          │ gpu-1  cores ███████░░░░░░░       8 of 16',
    '                                                                            │        cards ██████████████        2 of 2',
  ])
  assert.match(lines[0]!, /live {3}up 41 d 6 h {3}Sun 22 Nov 11:16:24$/)
  assert.match(lines[1]!, /9 panels$/)
})

test('with less than 80 by 24 there are the first two lines and the flows that fit', () => {
  const lines = drawn({}, { columns: 60, rows: 12 })
  assert.equal(lines.length, 12)
  assert.match(lines[3]!, /^ {3}name +per s {2}last 54 s +p99 ms {2}queue$/)
  assert.equal(lines.filter(line => /^[› ][▼▲·]/.test(line)).length, 7)
})

test('columns leave in their order: note, queue, p99, last minute', () => {
  const heads = [70, 60, 45, 40, 30].map(width => drawn({}, { columns: width, rows: 10 })[3]!.trim().split(/ {2,}/))
  const wanted = ['name', 'per s', 'last', 'p99 ms', 'queue', 'note']
  heads.forEach((head, at) => {
    const words = head.map(word => (/^last|^\d+ s$/.test(word) ? 'last' : word))
    assert.deepEqual(words, wanted.slice(0, wanted.length - at), String(at))
  })
})

describe('what is old', () => {
  const silent = (ms: number): Shown => {
    const engine = boilerHouse()
    const shown = shownOf(engine)
    engine.heard_ms = shown.now_ms - ms
    return shown
  }

  test('is dim, and the first line says in red how old', () => {
    assert.ok(linesOf(silent(1_900)).every(line => !line.includes('no answer')))
    const shown = silent(3_400)
    assert.match(linesOf(shown)[0]!, /no answer for 3 s/)
    assert.equal(stylesOf(shown, 'no answer')?.tone, 'red')
    for (const { text, style } of drawScreen(shown, SMALL).slice(1, -1).flat())
      assert.ok(style.isDim && style.tone === undefined, text)
  })

  test('is what a paused screen shows after two seconds, too, and it says that it is paused', () => {
    const shown = (ms: number): Shown => {
      const of = shownOf(boilerHouse())
      return { ...of, view: { ...of.view, paused_ms: of.now_ms - ms } }
    }
    assert.match(linesOf(shown(0))[0]!, /paused 0 s/)
    assert.equal(stylesOf(shown(0), 'paused')?.tone, 'yellow')
    assert.equal(stylesOf(shown(0), '25 613')?.isDim, undefined)
    assert.equal(stylesOf(shown(5_000), '25 613')?.isDim, true)
  })
})

describe('an empty engine', () => {
  test('says how to store a flow', () => {
    const engine = { ...boilerHouse(), flows: {}, runs: [], resources: null, log: [], logged: 0, nodes: null }
    const lines = linesOf(shownOf(engine))
    assert.match(lines.join('\n'), /there are no flows yet: "svc flows put" stores one/)
    assert.equal(linesOf(shownOf({ ...engine, isListed: false }), LARGE).length, 40)
  })
})

test('whatever names, sizes and choices there are, each row is as wide as the screen and harmless', () => {
  const names = [
    'boiler',
    '温度計测量仪表'.repeat(10),
    'مضخة_الماء',
    'a\u001b[2J\u202eb',
    'x'.repeat(128),
    '👩‍👩‍👧 e\u0301',
  ]
  const views: Partial<View>[] = [
    {},
    { part: 'nodes', isOpen: true },
    { part: 'runs' },
    { part: 'issues' },
    { part: 'log', cursor: { log: '1' } },
    { filter: 'o', isFiltering: true },
    { paused_ms: 0 },
    { overlay: { title: 'a\u001b', lines: ['温'.repeat(90), '', 'x'.repeat(500)], top: 1 } },
  ]
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 220 }),
      fc.integer({ min: 1, max: 70 }),
      fc.constantFrom(...views),
      fc.constantFrom(...names),
      (width, height, view, name) => {
        const engine = boilerHouse()
        const issue = { code: 'node_error', advisory: false, message: name, node: name, since: null }
        listFlows(engine, [
          ...Object.values(engine.flows),
          { ...engine.flows['boiler']!, name, issues: [issue], updated_by: name },
        ] as never)
        engine.runs.push({ ...engine.runs[0]!, id: `${name}1234`, flow: name, doing: name })
        engine.log.push({ ...engine.log[0]!, flow: name, by: name })
        const lines = drawScreen(shownOf(engine, view), { columns: width, rows: height })
        assert.equal(lines.length, height)
        for (const line of lines) {
          const text = textOf(line)
          assert.equal(columns(text), width, JSON.stringify(text))
          assert.doesNotMatch(text, /\p{Cc}|\p{Bidi_Control}/u)
        }
      },
    ),
    { seed, numRuns: 300 },
  )
})
