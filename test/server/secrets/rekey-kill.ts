import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writePrivate } from '../../../server/installation/private-file.ts'
import { Sealing } from '../../../server/secrets/sealing.ts'
import { LiveSecrets, OpenedSecrets, type SecretsStore } from '../../../server/secrets/secrets.ts'

/**
 * A process that rekeys the secrets of a folder and kills itself at the step that it was told: before and behind each write that a rekey makes.
 * With `check` it prints the values instead. Rows lie in one file that is replaced in one step, as a transaction is.
 */
const [folder = '', what = ''] = process.argv.slice(2)
const key = join(folder, 'key.pem')
const rows = join(folder, 'rows.json')
let steps = 0
const step = (): void => {
  if (what === String(steps++)) process.kill(process.pid, 'SIGKILL')
}
const read = (): Record<string, string> => JSON.parse(readFileSync(rows, 'utf8')) as Record<string, string>
const store: SecretsStore = {
  list: async () => Object.entries(read()).map(([id, body]) => ({ id, body })),
  write: async records => {
    step()
    const all = read()
    for (const { id, body } of records) if (body !== null) all[id] = body
    writePrivate(rows, JSON.stringify(all))
    step()
  },
}
const file = {
  read: () => readFileSync(key, 'utf8'),
  replace: (text: string) => {
    step()
    // As a kill in the middle of the write leaves it behind.
    writeFileSync(`${key}.new`, text.slice(0, text.length / 2))
    step()
    writePrivate(key, text)
    step()
  },
}
const live = new LiveSecrets({
  opened: await OpenedSecrets.open(store, new Sealing(file)),
  store,
  flows: { all: () => [], find: () => undefined, inTurn: change => change() },
  now_us: () => Date.now() * 1000,
  changed: () => {},
  onDefect: error => {
    throw error
  },
})
if (what === 'fill') for (let at = 0; at < 20; at++) await live.put(`name ${at}`, `value ${at}`, 'ada')
else if (what !== 'check') await live.rekey()
const { items } = await live.list({ limit: 1_000, offset: 0 })
console.log(JSON.stringify(Object.fromEntries(items.map(({ name }) => [name, live.text(name)]))))
