/** Figures of a window of acceleration samples, in the unit of the samples. */
export interface Figures {
  /** Root mean square: how much the machine shakes. */
  rms: number
  /** The largest magnitude. */
  peak: number
  /** Kurtosis: 1.5 for a sine, 3 for noise, far more when something in a bearing strikes. */
  kurtosis: number
}

export function figuresOf(samples: readonly number[]): Figures {
  const mean = samples.reduce((sum, each) => sum + each, 0) / samples.length
  const moment = (power: number) => samples.reduce((sum, each) => sum + (each - mean) ** power, 0) / samples.length
  return {
    rms: Math.sqrt(moment(2)),
    peak: Math.max(...samples.map(each => Math.abs(each - mean))),
    kurtosis: moment(4) / moment(2) ** 2,
  }
}
