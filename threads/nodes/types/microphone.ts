import Type, { type Static } from 'typebox'
import { limits } from '../../../protocol/limits.ts'
import { namesFile } from '../media-source.ts'
import type { NodeTypeDefinition } from '../node-type.ts'
import { checkMedia, mediaSettings, mediaTarget } from './camera.ts'

export const MicrophoneSettings = Type.Object(
  {
    source: Type.String({
      minLength: 1,
      maxLength: limits.URL_CHARACTERS,
      title: 'Source',
      description: 'A file (with a slash in its path), an http or rtsp address, an ALSA device such as hw:0, or test.',
    }),
    ...mediaSettings,
    chunk_s: Type.Optional(
      Type.Number({
        minimum: limits.CHUNK_S_MIN,
        maximum: limits.CHUNK_S_MAX,
        default: 1,
        unit: 's',
        title: 'Chunk',
        description: 'How much sound one chunk has.',
      }),
    ),
    format: Type.Optional(
      Type.Union([Type.Literal('wav'), Type.Literal('opus')], {
        default: 'wav',
        title: 'Format',
        description: 'WAV, or Opus in Ogg: a tenth of the size.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type MicrophoneSettings = Static<typeof MicrophoneSettings>

/** Publishes the sound of a microphone, or of a file. */
export const microphoneType: NodeTypeDefinition<MicrophoneSettings> = {
  name: 'microphone',
  title: 'Microphone',
  summary: 'Publishes the sound of a microphone or a recording in chunks, and how loud each is.',
  settings: MicrophoneSettings,
  inputs: { kind: 'none' },
  outputs: {
    kind: 'known',
    ports: [
      {
        name: 'chunk',
        dtypes: ['audio'],
        description: 'A volatile artifact, 16 kHz mono; its meta has time, sequence and duration_s.',
      },
      { name: 'level', dtypes: ['float'], description: 'The RMS of the chunk in dBFS, from -96 to 0.' },
    ],
  },
  place: 'connectors',
  side_effects: true,
  namesFile: ({ source }) => namesFile(source, 'audio'),
  targetKey: ({ source }) => mediaTarget(source),
  check: of => checkMedia(of, 'audio'),
}
