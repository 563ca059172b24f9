interface Reference {
  digest: string
  media_type: string
}

interface Context {
  settings: {
    /** Of 255: a part of the picture that has changed by more has moved. */
    step: number
    /** Shares of the picture: motion starts above one, and ends after a while below the other. */
    starts_at: number
    ends_at: number
    /** Frames. */
    quiet_for: number
  }
  state: {
    /** The frame before, in base64: a byte for each part of the picture. */
    before?: string
    moving?: boolean
    quiet?: number
  }
  read(reference: Reference): Promise<Uint8Array>
}

/** The picture in so many parts: their mean brightness says enough, and noise is gone. */
const COLUMNS = 32
const ROWS = 18
/** An optional package: https://sharp.pixelplumbing.com */
const DECODER = 'sharp'

/** Compares each frame with the one before, and tells when motion starts and ends. */
export default async function motion({ frame }: { frame: Reference }, ctx: Context) {
  const parts = await brightness(await ctx.read(frame))
  const before = ctx.state.before === undefined ? parts : Buffer.from(ctx.state.before, 'base64')
  const { step, starts_at, ends_at, quiet_for } = ctx.settings
  const changed = parts.filter((part, at) => Math.abs(part - before[at]!) > step).length / parts.length
  const { moving = false, quiet = 0 } = ctx.state
  const is_quiet = changed < ends_at ? quiet + 1 : 0
  const starts = !moving && changed > starts_at
  const ends = moving && is_quiet >= quiet_for
  Object.assign(ctx.state, { before: parts.toString('base64'), moving: starts || (moving && !ends), quiet: is_quiet })
  return { changed, ...(starts && { moving: true, started: frame }), ...(ends && { moving: false }) }
}

async function brightness(picture: Uint8Array): Promise<Buffer> {
  const decoded = (await decoder())(picture, { failOn: 'none' })
  return decoded.resize(COLUMNS, ROWS, { fit: 'fill' }).greyscale().raw().toBuffer()
}

async function decoder() {
  try {
    return (await import(DECODER)).default
  } catch (error) {
    throw new Error(`${DECODER} cannot be loaded; install it beside the installation with: npm install sharp@0.35.5`, {
      cause: error,
    })
  }
}
