import { usage } from './failure.ts'

/** For commander: a positive count, with the flag in the refusal. */
export const countOf =
  (flag: string) =>
  (text: string): number => {
    if (!/^[1-9]\d{0,8}$/.test(text)) throw usage(`${flag} is ${JSON.stringify(text)}: a positive integer is needed.`)
    return Number(text)
  }
