import { Rate } from '../messages/rate.ts'

/** The wires of a message pulse in three speeds: under 1, under 100, and from 100 values a second on. */
export function speedOf(per_s: number | null): 'slow' | 'fast' | 'faster' | null {
  if (per_s === null || per_s < 0.05) return null
  return per_s < 1 ? 'slow' : per_s < 100 ? 'fast' : 'faster'
}

export class Pulses {
  readonly #rates = new Map<string, Rate>()

  came(message: string, version: number): void {
    let rate = this.#rates.get(message)
    if (rate === undefined) this.#rates.set(message, (rate = new Rate()))
    rate.add(version, Date.now())
  }

  /** Of a message; null when nothing came lately. */
  speed(message: string): ReturnType<typeof speedOf> {
    return speedOf(this.#rates.get(message)?.perSecond(Date.now()) ?? null)
  }
}
