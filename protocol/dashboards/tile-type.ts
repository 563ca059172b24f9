import type { TObject } from 'typebox'

/** What a tile touches, as names of messages. It is what a panel may touch that shows the tile. */
export interface TileUses {
  /** What it draws. */
  readonly reads: readonly string[]
  /** What its control publishes; a lock forbids it. */
  readonly publishes: readonly string[]
  /** Where a querying chart publishes its own request; no lock forbids it. */
  readonly asks: readonly string[]
  /** Of `reads`: those whose values are references to bytes that it shows or plays. */
  readonly media: readonly string[]
}

/** Refuses a setting: `loc` is within the settings, such as `max`. */
export type RefuseSetting = (loc: string, msg: string) => void

/**
 * A type of tile. One file in `tiles/` a type, listed in `tiles/index.ts`. `GET /tile-types` answers all of it but the functions.
 *
 * A setting named `message` or `messages` names what is drawn, one named `publish` what a control publishes, one named `flow` a flow:
 * the rename of a flow finds its references by these names.
 */
export interface TileType<Settings = never> {
  /** As documents name it. */
  readonly name: string
  readonly title: string
  /** One sentence: what it shows or does. */
  readonly description: string
  /** Closed; each member has a title and a description, and a default and a unit where there is one. */
  readonly settings: TObject
  /** May a panel use it? A panel reads and publishes messages, and nothing else: no runs, no issues. */
  readonly on_panels: boolean
  /** The settings fit the schema. */
  uses(settings: Settings): TileUses
  /** What the schema cannot say. The settings fit it. */
  check?(settings: Settings, refuse: RefuseSetting): void
}

/** Any type, whatever its settings. */
export type AnyTileType = TileType<never>

export const NOTHING: TileUses = { reads: [], publishes: [], asks: [], media: [] }
export const drawing = (...reads: readonly string[]): TileUses => ({ ...NOTHING, reads })
