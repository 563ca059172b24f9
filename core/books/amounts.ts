import type { ResourceAmounts } from '../../protocol/nouns/run.ts'
import type { Amounts } from './ledger.ts'

/** What a node declares, as the books count it: whole thousandths of a core, whole cards, whole KiB. A declared amount is never rounded down to 0. */
export function booked({ cpus, gpus, ram_mb }: Pick<ResourceAmounts, 'cpus' | 'gpus' | 'ram_mb'>): Amounts {
  const atLeastOne = (amount: number | null, unit: number): number =>
    amount === null || amount === 0 ? 0 : Math.max(1, Math.round(amount * unit))
  return { cpus: atLeastOne(cpus, 1000), cards: Math.ceil(gpus ?? 0), ram_kib: atLeastOne(ram_mb, 1024) }
}

export const isNothing = ({ cpus, cards, ram_kib }: Amounts): boolean => cpus === 0 && cards === 0 && ram_kib === 0

/** The amounts after the cut: unchanged where nothing was cut, null where nothing was requested. */
export function given(asked: ResourceAmounts, amounts: Amounts): ResourceAmounts {
  const wanted = booked(asked)
  const of = (want: number | null, cut: boolean, amount: number): number | null =>
    want === null ? null : cut ? amount : want
  return {
    cpus: of(asked.cpus, amounts.cpus < wanted.cpus, amounts.cpus / 1000),
    gpus: asked.gpus === null ? null : amounts.cards,
    ram_mb: of(asked.ram_mb, amounts.ram_kib < wanted.ram_kib, amounts.ram_kib / 1024),
    flavor: asked.flavor,
  }
}
