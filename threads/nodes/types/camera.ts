import Type, { type Static } from 'typebox'
import { limits } from '../../../protocol/limits.ts'
import { mediaSource, namesFile } from '../media-source.ts'
import type { NodeTypeDefinition, SettingsOf } from '../node-type.ts'
import { secretText } from '../secrets.ts'

const nullable = <Schema extends Parameters<typeof Type.Union>[0][number]>(
  schema: Schema,
  more: Record<string, unknown>,
) => Type.Optional(Type.Union([schema, Type.Null()], { default: null, ...more }))

/** Settings that cameras and microphones have alike. */
export const mediaSettings = {
  user: Type.Optional(
    secretText({ title: 'User', default: '', description: 'Of the address, where it asks for one.' }),
  ),
  password: Type.Optional(secretText({ title: 'Password', default: '', description: 'Of the user.' })),
  loop: Type.Optional(
    Type.Boolean({
      default: true,
      title: 'Loop',
      description: 'A file begins again at its end. False: it is played once.',
    }),
  ),
}

export const CameraSettings = Type.Object(
  {
    source: Type.String({
      minLength: 1,
      maxLength: limits.URL_CHARACTERS,
      title: 'Source',
      description: 'A file (with a slash in its path), an http or rtsp address, a device such as /dev/video0, or test.',
    }),
    ...mediaSettings,
    fps: nullable(Type.Number({ minimum: limits.CAMERA_FPS_MIN, maximum: limits.CAMERA_FPS_MAX }), {
      unit: '1/s',
      title: 'Frames a second',
      description: 'As many as the source has when null.',
    }),
    width: nullable(Type.Integer({ minimum: limits.CAMERA_WIDTH_MIN, maximum: limits.CAMERA_WIDTH_MAX }), {
      unit: 'pixels',
      title: 'Width',
      description: 'The height follows. That of the source when null.',
    }),
    quality: nullable(Type.Integer({ minimum: 1, maximum: 100 }), {
      unit: '%',
      title: 'Quality',
      description:
        'Of the JPEG pictures. When null, pictures that are JPEG already stay as they are, and others get 90.',
    }),
  },
  { additionalProperties: false },
)
export type CameraSettings = Static<typeof CameraSettings>

/** Publishes the frames of a camera, or of a file. */
export const cameraType: NodeTypeDefinition<CameraSettings> = {
  name: 'camera',
  title: 'Camera',
  summary: 'Publishes each frame of a camera or a video as a JPEG picture.',
  settings: CameraSettings,
  inputs: { kind: 'none' },
  outputs: {
    kind: 'known',
    ports: [
      {
        name: 'frame',
        dtypes: ['image'],
        description: 'A volatile artifact; its meta has width, height, time and sequence.',
        required: true,
      },
    ],
  },
  place: 'connectors',
  side_effects: true,
  namesFile: ({ source }) => namesFile(source, 'video'),
  targetKey: ({ source }) => mediaTarget(source),
  check: of => checkMedia(of, 'video'),
}

/** Without the query of an address, which may hold credentials. */
export function mediaTarget(text: string): string | null {
  if (text === 'test') return null
  return /^(https?|rtsps?):/i.test(text) ? text.replace(/[?#].*$/s, '') : text
}

/** A source that is none, and credentials without an address that could ask for them. */
export function checkMedia(
  { settings: { source: text, user = '', password = '' }, refuse }: SettingsOf<CommonSettings>,
  medium: 'video' | 'audio',
): void {
  const source = mediaSource(text, medium)
  if (typeof source === 'string') return refuse('bad_settings', 'settings.source', source)
  if ((user !== '' || password !== '') && source.kind !== 'http' && source.kind !== 'rtsp')
    refuse('bad_settings', 'settings.user', 'only an http or rtsp address has a user and a password')
}

interface CommonSettings {
  source: string
  user?: CameraSettings['user']
  password?: CameraSettings['password']
}
