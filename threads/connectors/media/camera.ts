import { limits } from '../../../protocol/limits.ts'
import { formatTime } from '../../../protocol/time.ts'
import type { CameraSettings } from '../../nodes/types/camera.ts'
import type { ConnectorHost, ConnectorRunner } from '../connector.ts'
import type { Fault, Recipe } from './capture.ts'
import { FrameCutter } from './frames.ts'
import type { MediaInput } from './input.ts'
import { type JpegHead, jpegHead } from './jpeg.ts'
import { Kept } from './kept.ts'
import { openCapture } from './open-capture.ts'

/** Publishes each frame as it comes. */
export const cameraRunner: ConnectorRunner<CameraSettings> = {
  open({ settings }, host) {
    const { fps = null, width = null, quality = null } = settings
    return openCapture<Kept>(settings, host, {
      medium: 'video',
      choice: [fps, width, quality],
      recipe: input => new CameraRecipe(input, { fps, width, quality }, host),
      kept: frame => frame,
      outputs: (_, frame) => ({ frame }),
    })
  },
}

export interface PictureChoice {
  readonly fps: number | null
  readonly width: number | null
  readonly quality: number | null
}

/** Frames that are JPEG already are copied, unless something else is asked for. What comes tells: a first frame that is none is encoded from then on. */
export class CameraRecipe implements Recipe<Kept> {
  readonly input: MediaInput
  readonly unit = 'frame'
  readonly #choice: PictureChoice
  readonly #clock: Pick<ConnectorHost, 'nowUs'>
  #copies: boolean
  #sequence = 0

  constructor(input: MediaInput, choice: PictureChoice, clock: Pick<ConnectorHost, 'nowUs'>) {
    this.input = input
    this.#choice = choice
    this.#clock = clock
    const { fps, width, quality } = choice
    this.#copies = input.kind !== 'test' && fps === null && width === null && quality === null
  }

  get interval_ms(): number {
    return this.#choice.fps === null ? 0 : 1000 / this.#choice.fps
  }

  words(): string[] {
    const { fps, width, quality } = this.#choice
    const filters = [...(fps === null ? [] : [`fps=${fps}`]), ...(width === null ? [] : [`scale=${width}:-2`])]
    // Passthrough: a gap in the source is not filled with copies of a frame.
    const encoded = [
      ...['-vsync', 'passthrough'],
      ...(filters.length === 0 ? [] : ['-vf', filters.join(',')]),
      ...['-c:v', 'mjpeg', '-q:v', String(qualityScale(quality ?? limits.CAMERA_QUALITY))],
    ]
    return [
      ...this.input.words(`testsrc2=size=640x360:rate=${fps ?? limits.CAMERA_TEST_FPS}`, [
        '-f',
        'v4l2',
        ...(this.#copies ? ['-input_format', 'mjpeg'] : []),
      ]),
      ...['-map', '0:v:0', '-an'],
      ...(this.#copies ? ['-c:v', 'copy'] : encoded),
      ...['-f', 'mpjpeg', '-boundary_tag', 'frame', '-flush_packets', '1', 'pipe:1'],
    ]
  }

  readers(give: (frame: Kept) => void): ((bytes: Buffer) => Fault | null)[] {
    let fault: Fault | null = null
    const cutter = new FrameCutter(limits.MEDIA_FRAME_BYTES, bytes => {
      if (fault !== null) return
      const head = jpegHead(bytes)
      if (this.#copies && !head?.has_tables) fault = this.#encode()
      else if (head === null) fault = { reason: 'ffmpeg wrote a frame that is no JPEG' }
      else give(this.#kept(bytes, head))
    })
    return [
      bytes => {
        const reason = cutter.push(bytes)
        return fault ?? (reason === null ? null : { reason })
      },
    ]
  }

  #encode(): Fault {
    this.#copies = false
    return { reason: 'its pictures are no JPEG', at_once: true }
  }

  #kept(bytes: Buffer, { width, height }: JpegHead): Kept {
    const meta = { width, height, time: formatTime(this.#clock.nowUs()), sequence: ++this.#sequence }
    return new Kept(bytes, 'image/jpeg', meta)
  }
}

/** ffmpeg's own scale: 2 is the best, 31 the worst. */
const qualityScale = (percent: number): number => Math.round(2 + ((100 - percent) * 29) / 99)
