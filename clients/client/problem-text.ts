import { errorTable, type Problem } from '../../protocol/errors.ts'

/** What a refusal says to a person. A detail that is only the advice of the table gets its title before it. */
export function problemText({ code, title, detail }: Pick<Problem, 'code' | 'title' | 'detail'>): string {
  return errorTable[code]?.next === detail ? `${title}. ${detail}` : detail
}
