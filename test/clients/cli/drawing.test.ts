import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import stringWidth from 'string-width'
import { bytes, duration, rate } from '../../../clients/cli/output/figures.ts'
import { Series } from '../../../clients/cli/output/series.ts'
import { sparkline } from '../../../clients/cli/output/sparkline.ts'
import { table } from '../../../clients/cli/output/table.ts'
import { tailTable } from '../../../clients/cli/output/tail-table.ts'
import { columns, fit, isPlain, printable } from '../../../clients/cli/output/text.ts'

const plain = { style: (_style: string, text: string) => text }

describe('text of a flow on a terminal', () => {
  test('loses everything that a terminal would obey', () => {
    assert.equal(printable('a\u001b[2Jb\r\n\tc\u009b1m\u202ed\u0000'), 'a\\x1b[2Jb\\x0d\\n\\tc\\x9b1m\\x202ed\\x00')
  })

  test('is measured as the library measures it, also where that is not asked', () => {
    for (let code = 0x20; code <= 0xffff; code++) {
      const character = String.fromCharCode(code)
      if (isPlain(character)) assert.equal(stringWidth(character), 1, `U+${code.toString(16)}`)
    }
  })

  test('is measured in columns', () => {
    assert.equal(columns('abc'), 3)
    assert.equal(columns('温度'), 4)
    assert.equal(columns('e\u0301'), 1)
    for (const character of ['👩‍👩‍👧‍👦', '👍🏽', '🇩🇪', '❤️', '⚠️', '1️⃣']) {
      assert.equal(columns(character), 2, character)
      assert.equal(fit(`${character}${character}${character}`, 5), `${character}${character}…`)
    }
    assert.equal(fit('温度計', 5), '温度…')
    assert.equal(fit('short', 5), 'short')
    assert.equal(fit('longer', 5), 'long…')
    assert.equal(fit('x', 0), '')
  })
})

describe('a table', () => {
  const shape = [
    { title: 'name', cell: (row: [string, string]) => row[0] },
    { title: 'value', cell: (row: [string, string]) => row[1] },
  ]

  test('lines its columns up', () => {
    assert.deepEqual(table([['a', '1'] as [string, string], ['long', '22']], shape), [
      'name  value',
      'a     1',
      'long  22',
    ])
  })

  test('shortens its last column to the width', () => {
    const lines = table([['a', 'x'.repeat(100)] as [string, string]], shape, 20)
    assert.ok(lines.every(line => columns(line) <= 20))
    assert.ok(lines[1]!.endsWith('…'))
  })

  test('leaves out columns without room, and never cuts a number, so that no line is wider than the terminal', () => {
    const wide = [
      { title: 'flow', cell: () => 'vibration_of_the_pumps' },
      { title: 'took', align: 'right' as const, cell: () => '1234567890' },
      { title: 'by', cell: () => 'admin' },
    ]
    for (let width = 22; width < 50; width++) {
      const [head, row] = table([0], wide, width)
      assert.ok(columns(row!) <= width, `${width}: ${row}`)
      assert.equal(head!.includes('took'), row!.includes('1234567890'), `${width}: ${row}`)
      assert.equal(head!.includes('by'), row!.includes('admin'), `${width}: ${row}`)
    }
  })
})

describe('a sparkline', () => {
  test('goes from the least to the greatest of what it shows', () => {
    assert.equal(sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8), '▁▂▃▄▅▆▇█')
    assert.equal(sparkline([100, 0, 1], 2), '▁█')
    assert.equal(sparkline([5, 5, 5], 8), '▅▅▅')
    assert.equal(sparkline([], 8), '')
    assert.equal(sparkline([-1e308, 1e308], 2).length, 2)
  })
})

describe('a series', () => {
  test('shares a point among values that come quickly, and keeps slow ones apart', () => {
    const series = new Series('a.b')
    for (let at = 0; at < 1_000; at++) series.add(at, 0, at)
    assert.deepEqual(series.points, [499, 999])
    series.add(7, 0, 5_000)
    assert.deepEqual(series.points, [499, 999, 7])
  })

  test('counts what was published a second, missed values included, over the last five', () => {
    const series = new Series('a.b')
    for (let at = 0; at <= 10_000; at += 10) series.add(1, 1, at)
    assert.ok(Math.abs(series.rate(10_000) - 200) < 25, String(series.rate(10_000)))
    assert.equal(series.rate(60_000), 0)
    assert.equal(series.missed, 1_001)
  })

  test('takes its first value for the one that was there before', () => {
    const series = new Series('a.b')
    series.add(1, 0, 0)
    assert.equal(series.rate(100), 0)
  })

  test('shows numbers short, references by their type, and draws only numbers and bools', () => {
    const series = new Series('a.b')
    const shown = (value: unknown) => {
      series.add(value, 0, 0)
      return series.last
    }
    assert.equal(shown(0.1 + 0.2), '0.3')
    assert.equal(shown(12_345_678_901), '12345678901')
    assert.equal(shown(true), 'true')
    assert.equal(shown('a\nb'), '"a\\nb"')
    assert.equal(
      shown({ digest: `sha256:${'a'.repeat(64)}`, media_type: 'image/jpeg' }),
      'image/jpeg sha256:aaaaaaaaaaaa',
    )
    assert.equal(series.points.length, 1)
  })
})

describe('the table of svc tail', () => {
  const series = Array.from({ length: 30 }, (_, at) => {
    const each = new Series(`machine_${at}.${'long'.repeat(at % 5)}x`)
    for (let beat = 0; beat < 40; beat++) each.add(Math.sin(beat / 5) * 10 ** (at % 12), beat % 3, beat * 500)
    return each
  })

  for (const wide of [1, 5, 11, 20, 30, 41, 60, 80, 133, 400]) {
    test(`never leaves a terminal of ${wide} columns, whatever its rows`, () => {
      for (const rows of [1, 2, 3, 10, 50]) {
        const lines = tailTable(series, 'http://127.0.0.1:8700 · 30 messages', { columns: wide, rows }, plain, 20_000)
        assert.ok(lines.length <= rows)
        for (const line of lines) assert.ok(columns(line) < Math.max(wide, 11), `${columns(line)}: ${line}`)
      }
    })
  }

  test('shows name, trend, last value, rate and missed on a wide one', () => {
    const [head, first] = tailTable(series.slice(0, 1), 'live', { columns: 80, rows: 24 }, plain, 20_000)
    assert.match(head!, /^name +trend +last +rate\/s +missed$/)
    assert.match(first!, /^machine_0\.x +[▁-█]{30,} +0\.99\d+ +\d\.\d+ +39$/)
  })

  test('gives the room of the trend to values that have none', () => {
    const note = new Series('a.note')
    note.add('a text that is longer than the column of last values', 0, 0)
    const [, first] = tailTable([note], 'live', { columns: 90, rows: 24 }, plain, 0)
    assert.match(first!, /longer than the column of last values"/)
  })

  test('keeps name and last value on a narrow one', () => {
    const [head, first] = tailTable(series.slice(0, 1), 'live', { columns: 24, rows: 24 }, plain, 20_000)
    assert.doesNotMatch(head!, /trend|missed/)
    assert.match(first!, /^machin.* +0\.99/)
  })

  test('says how many have no room', () => {
    const lines = tailTable(series, 'live', { columns: 100, rows: 12 }, plain, 0)
    assert.equal(lines.length, 12)
    assert.match(lines.at(-1)!, /20 more have no room/)
  })
})

test('figures are short', () => {
  assert.deepEqual([0, 1023, 1024, 150 * 1024, 5e9].map(bytes), ['0 B', '1023 B', '1.0 KiB', '150 KiB', '4.7 GiB'])
  assert.deepEqual([0.85, 12.9, 200, 18_120, 370_800].map(duration), [
    '850 ms',
    '12 s',
    '3 min 20 s',
    '5 h 2 min',
    '4 d 7 h',
  ])
  assert.deepEqual([0, 0.25, 12.5, 950, 9_999, 12_345, 1_200_000, 5e8].map(rate), [
    '0',
    '0.25',
    '12.5',
    '950',
    '9999',
    '12.3k',
    '1.20M',
    '500M',
  ])
})
