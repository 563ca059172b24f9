import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { jsonOf } from '../../../threads/connectors/http/answer.ts'
import { readJson, readLongJson } from '../../../threads/connectors/mqtt/payload.ts'

const ANSWER = { headers: { 'content-type': 'application/json' } } as IncomingMessage
const of = {
  'a broker': async (bytes: Buffer) => readLongJson(bytes, null),
  'a web server': async (bytes: Buffer) => ({ value: await jsonOf(ANSWER, bytes) }),
}

/** How often the event loop had its turn. */
async function turnsWhile(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let next: NodeJS.Immediate
  const count = (): void => {
    turns++
    next = setImmediate(count)
  }
  count()
  try {
    await work()
  } finally {
    clearImmediate(next!)
  }
  return turns
}

for (const [who, read] of Object.entries(of)) {
  test(`a JSON of 4 MiB from ${who} does not hold up the thread, whatever it is made of`, async () => {
    const shapes = [
      JSON.stringify(Array.from({ length: 150_000 }, (_, n) => ({ n, even: n % 2 === 0 }))),
      `[${'1,'.repeat(limits.LIST_ITEMS - 2)}1]`,
      `[${'[],'.repeat(limits.LIST_ITEMS - 2)}1]`,
    ]
    for (const text of shapes) {
      let value: unknown
      const turns = await turnsWhile(async () => ({ value } = (await read(Buffer.from(text))) as { value: unknown }))
      assert.ok(turns > 4, `${turns} turns`)
      assert.deepEqual(value, (readJson(Buffer.from(text), null) as { value: unknown }).value)
    }
  })

  test(`a long JSON from ${who} that is none, too deep, or has too wide an object is refused by name`, async () => {
    const blank = ' '.repeat(limits.BODY_AT_ONCE_BYTES)
    const wide = JSON.stringify(
      Object.fromEntries(Array.from({ length: limits.VALUE_PARTS + 1 }, (_, n) => [`k${n}`, n])),
    )
    for (const [text, said] of [
      [`${blank}{`, /JSON/],
      [blank + '['.repeat(limits.JSON_DEPTH + 1) + ']'.repeat(limits.JSON_DEPTH + 1), /nested deeper than 64 levels/],
      [wide, /an object of more than 20000 members/],
    ] as const)
      assert.match(
        await read(Buffer.from(text)).then(
          result => (result as { fault?: string }).fault ?? 'it was read',
          error => String(error),
        ),
        said,
      )
  })
}
