/** Samples of sound: 16 bits, one channel. */
export const SAMPLE_RATE = 16_000
const SAMPLE_BYTES = 2
const WAV_HEAD_BYTES = 44
/** Of 16 bits: less is silence. */
const SILENCE_DBFS = -96
const FULL_SCALE = 32_768

/** Cuts samples into chunks of the same length, by counting bytes. */
export class SampleCutter {
  readonly #give: (wav: Buffer, level: number) => void
  /** A whole WAV file, over and over. */
  readonly #wav: Buffer
  #filled = WAV_HEAD_BYTES

  /** `give`: the bytes are only there until it returns. */
  constructor(samples: number, give: (wav: Buffer, level: number) => void) {
    this.#give = give
    this.#wav = Buffer.alloc(WAV_HEAD_BYTES + samples * SAMPLE_BYTES)
    wavHead(samples).copy(this.#wav)
  }

  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      const taken = bytes.copy(this.#wav, this.#filled, at)
      at += taken
      this.#filled += taken
      if (this.#filled < this.#wav.length) continue
      this.#filled = WAV_HEAD_BYTES
      this.#give(this.#wav, levelOf(this.#wav.subarray(WAV_HEAD_BYTES)))
    }
  }
}

/** RMS in dBFS: 0 is a square wave of full scale, a sine of full scale has -3. */
export function levelOf(samples: Buffer): number {
  let sum = 0
  for (let at = 0; at + 1 < samples.length; at += SAMPLE_BYTES) sum += samples.readInt16LE(at) ** 2
  const rms = Math.sqrt(sum / Math.max(1, samples.length / SAMPLE_BYTES))
  return rms === 0 ? SILENCE_DBFS : Math.max(SILENCE_DBFS, 20 * Math.log10(rms / FULL_SCALE))
}

/** Of a WAV file with PCM samples (RIFF, little endian). */
function wavHead(samples: number): Buffer {
  const bytes = samples * SAMPLE_BYTES
  const head = Buffer.alloc(WAV_HEAD_BYTES)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(WAV_HEAD_BYTES - 8 + bytes, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(SAMPLE_RATE, 24)
  head.writeUInt32LE(SAMPLE_RATE * SAMPLE_BYTES, 28)
  head.writeUInt16LE(SAMPLE_BYTES, 32)
  head.writeUInt16LE(8 * SAMPLE_BYTES, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(bytes, 40)
  return head
}
