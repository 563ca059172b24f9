import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Look, Renderer } from '../../../clients/terminal/device/renderer.ts'
import { cutTo, gap, type Line, RED, span, widthOf } from '../../../clients/terminal/draw/line.ts'
import { seed } from '../../kit/random.ts'
import { ScreenDouble } from '../../kit/screen-double.ts'

const FULL: Look = { hasColour: true, hasUtf8: true }
const SIZE = { columns: 30, rows: 4 }

/** Rows as wide as the screen, of texts. */
const lines = (...texts: string[]): Line[] =>
  Array.from({ length: SIZE.rows }, (_, at) => {
    const cut = cutTo([span(texts[at] ?? '')], SIZE.columns)
    return [...cut, gap(SIZE.columns - widthOf(cut))]
  })

function drawn(look: Look = FULL) {
  const screen = new ScreenDouble(SIZE.columns, SIZE.rows)
  const renderer = new Renderer(look)
  const draw = (all: Line[]): number => {
    const text = renderer.draw(all, SIZE)
    screen.write(text)
    return text.length
  }
  return { screen, renderer, draw }
}

test('only what has changed is sent, and nothing when nothing has', () => {
  const { screen, draw } = drawn()
  const first = draw(lines('boiler 412.6', 'pump 1 204', 'weather 0.2'))
  assert.deepEqual(screen.lines, ['boiler 412.6', 'pump 1 204', 'weather 0.2', ''])
  assert.equal(draw(lines('boiler 412.6', 'pump 1 204', 'weather 0.2')), 0)
  const second = draw(lines('boiler 413.6', 'pump 1 204', 'weather 0.2'))
  assert.deepEqual(screen.lines[0], 'boiler 413.6')
  assert.ok(second < 45 && first > 100, `${second} of ${first}`)
})

test('whatever was shown before, the screen is that of the lines', () => {
  const texts = [
    'boiler',
    '温度計 12',
    'e\u0301tat',
    '👩‍👩‍👧 x',
    'مضخة 3',
    '',
    'a\u001b[2Jb',
    '███▌░░ 65 %',
    'x'.repeat(60),
  ]
  const screenOf = fc.array(fc.constantFrom(...texts), { minLength: 4, maxLength: 4 })
  fc.assert(
    fc.property(fc.array(screenOf, { minLength: 2, maxLength: 6 }), screens => {
      const { screen, draw } = drawn()
      for (const texts of screens) {
        draw(lines(...texts))
        const alone = drawn()
        alone.draw(lines(...texts))
        assert.deepEqual(screen.cells, alone.screen.cells)
      }
    }),
    { seed },
  )
})

test('another size, and a screen that something else wrote on, are drawn whole', () => {
  const { screen, renderer, draw } = drawn()
  draw(lines('a'))
  screen.write('\x1b[1;1Hrubbish')
  renderer.forget()
  draw(lines('a'))
  assert.equal(screen.lines[0], 'a')
  assert.match(renderer.draw(lines('a'), { columns: 20, rows: 4 }), /\[2J/)
})

test('without colours there are shapes and bold, without UTF-8 letters of ASCII', () => {
  const line: Line[] = [
    [span('▼', RED), { text: ' pump…  ', style: { isReversed: true } }, span('温', { isDim: true })],
  ]
  const plain = new Renderer({ hasColour: false, hasUtf8: true }).draw(line, SIZE)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what is looked for
  assert.deepEqual([...new Set(plain.match(/\x1b\[[0-9;]*m/g))], ['\x1b[0m', '\x1b[1m'])
  const ascii = drawn({ hasColour: true, hasUtf8: false })
  ascii.draw(line)
  assert.equal(ascii.screen.lines[0], 'v pump~  ??')
})
