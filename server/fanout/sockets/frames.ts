import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { type ErrorPlace, ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import { isQualified } from '../../../protocol/names.ts'
import {
  FiguresFrame,
  FollowActivityFrame,
  FollowLogsFrame,
  HaveFrame,
  MediaFrame,
  PublishFrame,
  SubscribeFrame,
  UnfollowActivityFrame,
  UnfollowLogsFrame,
  UnsubscribeFrame,
} from '../../../protocol/socket/frames.ts'

const subscribe = Compile(SubscribeFrame)
const unsubscribe = Compile(UnsubscribeFrame)
const have = Compile(HaveFrame)
const publish = Compile(PublishFrame)
const media = Compile(MediaFrame)
const figures = Compile(FiguresFrame)
const followLogs = Compile(FollowLogsFrame)
const unfollowLogs = Compile(UnfollowLogsFrame)
const followActivity = Compile(FollowActivityFrame)
const unfollowActivity = Compile(UnfollowActivityFrame)

export type Frame =
  | Static<typeof SubscribeFrame>
  | Static<typeof UnsubscribeFrame>
  | Static<typeof PublishFrame>
  | Static<typeof HaveFrame>
  | Static<typeof MediaFrame>
  | Static<typeof FiguresFrame>
  | Static<typeof FollowLogsFrame>
  | Static<typeof UnfollowLogsFrame>
  | Static<typeof FollowActivityFrame>
  | Static<typeof UnfollowActivityFrame>

interface Validator {
  Check(value: unknown): boolean
  Errors(value: unknown): { instancePath: string; message: string }[]
}

const PUBLISH_ID_CHARACTERS = 128

/** One text frame from a client; throws `malformed_json`, `malformed_frame` or `validation`. */
export function readFrame(text: string): Frame {
  const frame = parse(text)
  if (isPublishFrame(frame)) return frame
  const type = (frame as { type?: unknown } | null)?.type
  switch (type) {
    case 'publish':
      return checked(frame, publish)
    case 'subscribe':
      return checked(frame, subscribe)
    case 'unsubscribe':
      return checked(frame, unsubscribe)
    case 'have':
      return checkHave(frame)
    case 'follow_logs':
      return checked(frame, followLogs)
    case 'unfollow_logs':
      return checked(frame, unfollowLogs)
    case 'follow_activity':
      return checked(frame, followActivity)
    case 'unfollow_activity':
      return checked(frame, unfollowActivity)
    case 'media':
      return checked(frame, media)
    case 'figures':
      return checked(frame, figures)
    default:
      throw new ServiceError('malformed_frame', `The frame type ${shown(type)} is not known.`)
  }
}

/** The id to answer with, when a frame was refused that had one. */
export function idOf(text: string): string | number | null {
  if (!text.includes('"id"')) return null
  try {
    const id = (JSON.parse(text) as { id?: unknown } | null)?.id
    return isId(id) ? id : null
  } catch {
    return null
  }
}

/**
 * The publish frame's check by hand, for the hot path: the same answer as the compiled schema (a test holds the two
 * together) in a tenth of its time. A false answer leads to the schema, which says what is wrong.
 */
export function isPublishFrame(frame: unknown): frame is Static<typeof PublishFrame> {
  if (typeof frame !== 'object' || frame === null) return false
  const { type, id, name, durable } = frame as { type?: unknown; id?: unknown; name?: unknown; durable?: unknown }
  if (type !== 'publish' || !isId(id) || typeof name !== 'string' || !isQualified(name)) return false
  let keys = 0
  for (const _ in frame) keys++
  if (!Object.hasOwn(frame, 'value')) return false
  return durable === undefined ? keys === 4 : keys === 5 && typeof durable === 'boolean'
}

const isId = (id: unknown): id is string | number =>
  typeof id === 'string' ? id.length <= PUBLISH_ID_CHARACTERS : Number.isFinite(id)

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ServiceError('malformed_json', `${(error as Error).message}.`)
  }
}

function checked<T extends Frame>(frame: unknown, validator: Validator): T {
  if (validator.Check(frame)) return frame as T
  const errors: ErrorPlace[] = []
  for (const { instancePath, message } of validator.Errors(frame)) {
    if (errors.length === limits.ERROR_PLACES) break
    errors.push({ loc: `frame${instancePath.replaceAll('/', '.')}`, msg: message })
  }
  throw new ServiceError('validation', undefined, { errors })
}

/** A record has no `maxProperties` in the schema's fast path, so its size is checked before its names. */
function checkHave(frame: unknown): Static<typeof HaveFrame> {
  const versions = (frame as { versions?: unknown }).versions
  if (typeof versions === 'object' && versions !== null && Object.keys(versions).length > limits.SOCKET_NAMES)
    throw new ServiceError('too_large', `A frame names at most ${limits.SOCKET_NAMES} messages.`)
  return checked(frame, have)
}

const shown = (type: unknown): string => (typeof type === 'string' ? JSON.stringify(type.slice(0, 64)) : 'of the frame')
