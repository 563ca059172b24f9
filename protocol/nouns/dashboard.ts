import Type, { type Static } from 'typebox'
import { limits } from '../limits.ts'
import { NAME_PATTERN } from '../names.ts'
import { MessageName } from './message.ts'
import { Timestamp } from './timestamp.ts'

const closed = { additionalProperties: false }

export const DashboardName = Type.String({ pattern: NAME_PATTERN })

/** Columns of the grid at each of the three widths. */
export const GRID_COLUMNS = { wide: 12, tablet: 6, phone: 1 } as const
export type GridWidth = keyof typeof GRID_COLUMNS

/** A place in a grid of so many columns. A row is as high as the screen says. */
const placeOf = (columns: number) =>
  Type.Object(
    {
      x: Type.Integer({ minimum: 0, maximum: columns - 1 }),
      y: Type.Integer({ minimum: 0, maximum: limits.TILE_ROWS - 1 }),
      width: Type.Integer({ minimum: 1, maximum: columns }),
      height: Type.Integer({ minimum: 1, maximum: limits.TILE_ROWS }),
    },
    closed,
  )

export const TilePosition = Type.Object(
  {
    wide: Type.Optional(placeOf(GRID_COLUMNS.wide)),
    tablet: Type.Optional(placeOf(GRID_COLUMNS.tablet)),
    phone: Type.Optional(placeOf(GRID_COLUMNS.phone)),
  },
  {
    additionalProperties: true,
    description:
      'In grids of 12, 6 and 1 columns. A width that is absent follows the order of the next wider one, and without any the order of the tiles. Other members are kept for whoever draws.',
  },
)
export type TilePosition = Static<typeof TilePosition>

export const Tile = Type.Object(
  {
    id: Type.String({ pattern: NAME_PATTERN, description: 'Of the tile, within its dashboard.' }),
    type: Type.String({ maxLength: limits.TILE_WORD_CHARACTERS, description: 'One of GET /tile-types.' }),
    settings: Type.Record(Type.String(), Type.Unknown(), { description: 'As the type of the tile says.' }),
    position: Type.Optional(TilePosition),
  },
  closed,
)
export type Tile = Static<typeof Tile>

/** Does it forbid panels to publish? Always, never, or while a message says so. */
export const DashboardLock = Type.Union([Type.Boolean(), Type.Object({ message: MessageName }, closed)], {
  description:
    'True: panels publish nothing. A message: they publish nothing while its latest value is anything but false, or there is none.',
})
export type DashboardLock = Static<typeof DashboardLock>

export const DashboardDocument = Type.Object(
  { locked: DashboardLock, tiles: Type.Array(Tile, { maxItems: limits.DASHBOARD_TILES }) },
  closed,
)
export type DashboardDocument = Static<typeof DashboardDocument>

/** The document with its tiles unchecked, whose number is looked at first. */
export const DashboardOutline = Type.Object(
  { locked: DashboardLock, tiles: Type.Array(Type.Unknown(), { maxItems: limits.DASHBOARD_TILES }) },
  closed,
)

export const SaveDashboard = Type.Object(
  {
    document: DashboardDocument,
    version: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'The version that was read; 0 when there was none. 409 when it is another by now.',
      }),
    ),
  },
  closed,
)
export type SaveDashboard = Static<typeof SaveDashboard>

/** Something doubtful about a document that was saved all the same. */
export const DashboardWarning = Type.Object({
  loc: Type.String({ description: 'Where in the document: `tiles[3].settings.message`.' }),
  msg: Type.String(),
})
export type DashboardWarning = Static<typeof DashboardWarning>

export const SavedDashboard = Type.Object({
  name: Type.String(),
  version: Type.Integer(),
  warnings: Type.Array(DashboardWarning),
})
export type SavedDashboard = Static<typeof SavedDashboard>

const summary = {
  name: Type.String(),
  version: Type.Integer({ description: 'Counts the saves of this dashboard, from 1.' }),
  tiles: Type.Integer(),
  updated_at: Timestamp,
  updated_by: Type.String(),
}
export const DashboardSummary = Type.Object({
  ...summary,
  panels: Type.Array(Type.String(), { description: 'Names of the panels that show it.' }),
})
export type DashboardSummary = Static<typeof DashboardSummary>

export const Dashboard = Type.Object({
  name: Type.String(),
  version: Type.Integer(),
  document: DashboardDocument,
  is_locked: Type.Boolean({
    description: 'Panels publish nothing at this moment, apart from requests of querying charts.',
  }),
  updated_at: Type.Optional(Timestamp),
  updated_by: Type.Optional(Type.String({ description: 'Not told to panels.' })),
  warnings: Type.Optional(Type.Array(DashboardWarning, { description: 'Not told to panels.' })),
})
export type Dashboard = Static<typeof Dashboard>

export const DashboardVersion = Type.Object({
  version: Type.Integer(),
  author: Type.String(),
  at: Timestamp,
  action: Type.String({ description: 'save, restore, rename (of a flow that it names), delete' }),
  tiles: Type.Integer(),
})
export type DashboardVersion = Static<typeof DashboardVersion>

export const DashboardDifference = Type.Object({
  path: Type.String({ description: 'JSON pointer into the document.' }),
  before: Type.Optional(Type.Unknown()),
  after: Type.Optional(Type.Unknown()),
})
export const DashboardVersionDetail = Type.Object({
  ...DashboardVersion.properties,
  document: Type.Union([DashboardDocument, Type.Null()]),
  diff: Type.Array(DashboardDifference, {
    description: 'The differences to the version before, as far as it is kept.',
  }),
})
export type DashboardVersionDetail = Static<typeof DashboardVersionDetail>

export const TileTypeInfo = Type.Object(
  {
    name: Type.String({ description: 'As dashboards name it.' }),
    title: Type.String(),
    description: Type.String({ description: 'One sentence.' }),
    on_panels: Type.Boolean({ description: 'A panel may use it: it needs nothing but messages.' }),
    settings: Type.Record(Type.String(), Type.Unknown(), {
      description:
        'JSON Schema; `unit` is for display. `message` and `messages` name what is drawn, `publish` what is published.',
    }),
  },
  closed,
)
export type TileTypeInfo = Static<typeof TileTypeInfo>
