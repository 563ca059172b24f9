interface Reference {
  digest: string
  media_type: string
}

/** Keeps the frame in which motion started: frames are in memory only, until newer ones take their place. */
export default async function snapshot(
  { started }: { started: Reference },
  ctx: { keep(reference: Reference): Promise<Reference> },
) {
  return { snapshot: await ctx.keep(started) }
}
