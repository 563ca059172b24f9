import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'

/**
 * A reporter of node's runner that says at the end which tests were skipped, and what each of them needs, so that nobody takes
 * what was not tried for what holds.
 */
export default async function* skipped(source: AsyncIterable<TestEvent>): AsyncGenerator<string, void> {
  const found = new Map<string, { count: number; files: Set<string> }>()
  for await (const event of source) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue
    const { skip, file } = event.data
    if (skip === undefined || skip === false) continue
    const why = typeof skip === 'string' && skip !== '' ? skip : 'without a reason'
    const entry = found.get(why) ?? { count: 0, files: new Set<string>() }
    found.set(why, entry)
    entry.count++
    entry.files.add(file === undefined ? '' : relative(process.cwd(), file))
  }
  if (found.size === 0) return
  yield '\nSkipped on this machine:\n'
  for (const [why, { count, files }] of found)
    yield `  ${why}: ${count} ${count === 1 ? 'test' : 'tests'} in ${[...files].sort().join(', ')}\n`
}
