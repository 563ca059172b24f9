/** Names under which the records do not all have the same value, in the order in which they come. */
export function differing(records: readonly Readonly<Record<string, unknown>>[]): string[] {
  const names = [...new Set(records.flatMap(record => Object.keys(record)))]
  return names.filter(name => new Set(records.map(record => JSON.stringify(record[name]))).size > 1)
}
