import { limits } from '../../../protocol/limits.ts'
import { formatTime } from '../../../protocol/time.ts'
import type { MicrophoneSettings } from '../../nodes/types/microphone.ts'
import type { ConnectorHost, ConnectorRunner } from '../connector.ts'
import type { Fault, Recipe } from './capture.ts'
import type { MediaInput } from './input.ts'
import { Kept } from './kept.ts'
import { OPUS_RATE, OpusCutter } from './ogg-opus.ts'
import { openCapture } from './open-capture.ts'
import { SAMPLE_RATE, SampleCutter } from './sound.ts'

export interface Chunk {
  readonly sound: Kept
  /** dBFS. */
  readonly level: number
}

/** Publishes each chunk with its level. */
export const microphoneRunner: ConnectorRunner<MicrophoneSettings> = {
  open({ settings }, host) {
    const { chunk_s = 1, format = 'wav' } = settings
    return openCapture<Chunk>(settings, host, {
      medium: 'audio',
      choice: [chunk_s, format],
      recipe: input => new MicrophoneRecipe(input, chunk_s, format, host),
      kept: ({ sound }) => sound,
      outputs: ({ level }, chunk) => ({ chunk, level }),
    })
  },
}

/** Samples come in any case: the level is theirs. Opus comes beside them, from the same ffmpeg. */
export class MicrophoneRecipe implements Recipe<Chunk> {
  readonly input: MediaInput
  readonly unit = 'chunk'
  readonly interval_ms: number
  readonly #chunk_s: number
  readonly #format: 'wav' | 'opus'
  readonly #clock: Pick<ConnectorHost, 'nowUs'>
  #sequence = 0

  constructor(input: MediaInput, chunk_s: number, format: 'wav' | 'opus', clock: Pick<ConnectorHost, 'nowUs'>) {
    this.input = input
    this.interval_ms = chunk_s * 1000
    this.#chunk_s = chunk_s
    this.#format = format
    this.#clock = clock
  }

  words(): string[] {
    const sound = ['-map', '0:a:0', '-vn', '-ac', '1']
    const opus = [
      '-c:a',
      'libopus',
      '-b:a',
      '32k',
      '-f',
      'ogg',
      '-page_duration',
      '20000',
      '-flush_packets',
      '1',
      'pipe:3',
    ]
    return [
      ...this.input.words(`sine=frequency=440:sample_rate=${OPUS_RATE}`, ['-f', 'alsa']),
      ...[...sound, '-ar', String(SAMPLE_RATE), '-c:a', 'pcm_s16le', '-f', 's16le', '-flush_packets', '1', 'pipe:1'],
      ...(this.#format === 'wav' ? [] : [...sound, ...opus]),
    ]
  }

  readers(give: (chunk: Chunk) => void): ((bytes: Buffer) => Fault | null)[] {
    const samples = Math.round(this.#chunk_s * SAMPLE_RATE)
    if (this.#format === 'wav') {
      const cutter = new SampleCutter(samples, (wav, level) => give({ sound: this.#kept(wav, 'audio/wav'), level }))
      return [
        bytes => {
          cutter.push(bytes)
          return null
        },
      ]
    }
    // Both outputs go on together: what one has given waits for its like of the other.
    const levels: number[] = []
    const files: Buffer[] = []
    const together = (): Fault | null => {
      while (levels.length > 0 && files.length > 0)
        give({ sound: this.#kept(files.shift()!, 'audio/ogg'), level: levels.shift()! })
      const apart = Math.max(levels.length, files.length) > limits.MEDIA_CHUNKS_APART
      return apart ? { reason: 'ffmpeg wrote more of one output than of the other' } : null
    }
    const cutter = new SampleCutter(samples, (_, level) => levels.push(level))
    const opus = new OpusCutter(Math.round(this.#chunk_s * OPUS_RATE), file => files.push(file))
    return [
      bytes => {
        cutter.push(bytes)
        return together()
      },
      bytes => {
        const reason = opus.push(bytes)
        return reason === null ? together() : { reason }
      },
    ]
  }

  #kept(bytes: Buffer, media_type: string): Kept {
    const time = formatTime(this.#clock.nowUs())
    return new Kept(bytes, media_type, { time, sequence: ++this.#sequence, duration_s: this.#chunk_s })
  }
}
