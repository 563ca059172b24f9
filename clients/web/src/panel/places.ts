import type { GridWidth, Tile } from '../../../../protocol/nouns/dashboard.ts'

export interface TilePlace {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** As protocol/nouns/dashboard.ts has it, which is not loaded for it: its schemas cost more than the whole page. */
const COLUMNS: typeof import('../../../../protocol/nouns/dashboard.ts').GRID_COLUMNS = { wide: 12, tablet: 6, phone: 1 }
const WIDER: Readonly<Record<GridWidth, readonly GridWidth[]>> = {
  wide: [],
  tablet: ['wide'],
  phone: ['tablet', 'wide'],
}
const USUAL = { wide: { width: 3, height: 2 }, tablet: { width: 3, height: 2 }, phone: { width: 1, height: 2 } }

/**
 * Where the tiles stand in the grid of a width. A tile that has a place there keeps it; the others follow in the order of the next wider grid that they
 * have a place in, or in their own, row by row below.
 */
export function placesOf(tiles: readonly Pick<Tile, 'position'>[], width: GridWidth): TilePlace[] {
  const places: (TilePlace | null)[] = tiles.map(({ position }) => position?.[width] ?? null)
  let y = Math.max(0, ...places.map(place => (place === null ? 0 : place.y + place.height)))
  let x = 0
  let row_height = 0
  const orderOf = ({ position }: Pick<Tile, 'position'>): number => {
    const wider = WIDER[width].map(one => position?.[one]).find(place => place !== undefined)
    return wider === undefined ? Number.POSITIVE_INFINITY : wider.y * 1000 + wider.x
  }
  const open = tiles.map((_, at) => at).filter(at => places[at] === null)
  open.sort((a, b) => {
    const [one, other] = [orderOf(tiles[a]!), orderOf(tiles[b]!)]
    return one === other ? a - b : one - other
  })
  for (const at of open) {
    const { width: columns, height } = USUAL[width]
    if (x + columns > COLUMNS[width]) {
      x = 0
      y += row_height
      row_height = 0
    }
    places[at] = { x, y, width: columns, height }
    x += columns
    row_height = Math.max(row_height, height)
  }
  return places as TilePlace[]
}
