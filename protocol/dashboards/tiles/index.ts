import type { AnyTileType } from '../tile-type.ts'
import { audioTile } from './audio.ts'
import { buttonTile } from './button.ts'
import { chartTile } from './chart.ts'
import { clockTile } from './clock.ts'
import { gaugeTile } from './gauge.ts'
import { imageTile } from './image.ts'
import { issuesTile } from './issues.ts'
import { levelTile } from './level.ts'
import { numberTile } from './number.ts'
import { queryChartTile } from './query-chart.ts'
import { runCurvesTile } from './run-curves.ts'
import { runStarterTile } from './run-starter.ts'
import { selectTile } from './select.ts'
import { sliderTile } from './slider.ts'
import { switchTile } from './switch.ts'
import { tableTile } from './table.ts'
import { textTile } from './text.ts'
import { textFieldTile } from './text-field.ts'
import { valueTile } from './value.ts'

/** Every type of tile, in the order in which they are listed. A new type is a file of its own here, and a line. */
export const TILE_TYPES: readonly AnyTileType[] = [
  valueTile,
  gaugeTile,
  levelTile,
  chartTile,
  queryChartTile,
  tableTile,
  textTile,
  imageTile,
  audioTile,
  buttonTile,
  switchTile,
  sliderTile,
  numberTile,
  textFieldTile,
  selectTile,
  runStarterTile,
  runCurvesTile,
  issuesTile,
  clockTile,
]

const by_name = new Map(TILE_TYPES.map(type => [type.name, type]))

export const tileTypeOf = (name: string): AnyTileType | undefined => by_name.get(name)
