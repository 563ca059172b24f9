import { ServiceError } from '../../../protocol/errors.ts'
import { type Caller, mayDo, PANELS_MAY, type PanelReach, type WorkerPrincipal } from '../../auth/principal.ts'
import type { Frame } from './frames.ts'

const notIts = (what: string): ServiceError => new ServiceError('forbidden', `${PANELS_MAY} This is not so of ${what}.`)

/**
 * The frame as its sender may send it: the same one, or, of a panel's `media`, the names that its tiles draw. Throws `forbidden`. Whether the
 * caller may be on the socket at all was settled when it was opened.
 */
export function permitted(caller: Caller | WorkerPrincipal, frame: Frame): Frame {
  if (caller.kind === 'panel') return ofPanel(caller.reach, frame)
  if (caller.kind === 'worker') throw new ServiceError('forbidden')
  if (frame.type === 'publish' && !mayDo(caller, 'publish'))
    throw new ServiceError('forbidden', 'Publishing needs the scope "publish".')
  return frame
}

function ofPanel(reach: PanelReach, frame: Frame): Frame {
  switch (frame.type) {
    case 'publish':
      if (!reach.mayPublish(frame.name)) throw notIts(frame.name)
      return frame
    case 'subscribe': {
      const other = (frame.names ?? []).find(name => !reach.mayRead(name))
      if (other !== undefined) throw notIts(other)
      if ((frame.flows ?? []).length > 0) throw notIts('whole flows')
      if (frame.events === true) throw notIts('events')
      return frame
    }
    case 'have': {
      const other = Object.keys(frame.versions).find(name => !reach.mayRead(name))
      if (other !== undefined) throw notIts(other)
      return frame
    }
    case 'media':
      return { ...frame, names: frame.names.filter(name => reach.mayRead(name)) }
    case 'figures':
      throw notIts('figures')
    case 'follow_logs':
    case 'unfollow_logs':
      throw notIts('runs')
    case 'follow_activity':
      throw notIts('the figures of flows')
    case 'unfollow_activity':
    case 'unsubscribe':
      return frame
  }
}
