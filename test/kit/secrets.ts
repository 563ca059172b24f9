import { generateKeyPairSync } from 'node:crypto'
import { normalize } from '../../core/flow/normalize.ts'
import type { FlowDocument, NormalDocument } from '../../protocol/nouns/flow-document.ts'
import { type KeyFile, Sealing } from '../../server/secrets/sealing.ts'
import { LiveSecrets, OpenedSecrets, type SecretsStore } from '../../server/secrets/secrets.ts'

/** A key file in memory, as a new installation has it. */
export class KeyFileDouble implements KeyFile {
  text = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

  read(): string {
    return this.text
  }

  replace(text: string): void {
    this.text = text
  }
}

/** Rows by id, in memory. */
export class SecretRows implements SecretsStore {
  readonly rows = new Map<string, string>()

  async list(): Promise<{ id: string; body: string }[]> {
    return [...this.rows].map(([id, body]) => ({ id, body }))
  }

  async write(records: Parameters<SecretsStore['write']>[0]): Promise<null> {
    for (const { id, body } of records)
      if (body === null) this.rows.delete(id)
      else this.rows.set(id, body)
    return null
  }
}

export interface OpenSecrets {
  readonly live: LiveSecrets
  readonly file: KeyFileDouble
  readonly rows: SecretRows
  /** Names whose value changed, in order. */
  readonly changed: string[]
  flow(name: string, document: FlowDocument): void
}

/** Secrets over rows and a key file, those of before when they are given. */
export async function secretsOver(before: Partial<Pick<OpenSecrets, 'file' | 'rows'>> = {}): Promise<OpenSecrets> {
  const { file = new KeyFileDouble(), rows = new SecretRows() } = before
  const flows = new Map<string, NormalDocument>()
  const changed: string[] = []
  let last: Promise<unknown> = Promise.resolve()
  let now_us = 1_700_000_000_000_000
  const live = new LiveSecrets({
    opened: await OpenedSecrets.open(rows, new Sealing(file)),
    store: rows,
    flows: {
      all: () => [...flows].map(([name, document]) => ({ name, document })),
      find: name => (flows.has(name) ? { name, document: flows.get(name)! } : undefined),
      inTurn: change => {
        const turn = last.then(change)
        last = turn.catch(() => undefined)
        return turn
      },
    },
    now_us: () => now_us++,
    changed: name => changed.push(name),
    onDefect: error => {
      throw error
    },
  })
  return { live, file, rows, changed, flow: (name, document) => void flows.set(name, normalize(document)) }
}
