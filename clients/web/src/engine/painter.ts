/**
 * Writes into the page once a frame, whatever comes meanwhile: who has something new asks with its function, which is called once in the next
 * frame. A page in the background has no frames, so nothing is written there.
 */
const due = new Set<() => void>()
let isAsked = false

export function paintSoon(paint: () => void): void {
  due.add(paint)
  if (isAsked) return
  isAsked = true
  requestAnimationFrame(() => {
    isAsked = false
    const all = [...due]
    due.clear()
    for (const one of all) one()
  })
}

/** For what is removed before its frame. */
export const paintNoMore = (paint: () => void): void => void due.delete(paint)
