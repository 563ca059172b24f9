import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { Flavor } from '../../../protocol/nouns/flavor.ts'
import type { Connection, Statement } from '../file/database.ts'

/** Set once the installation has got its first flavors, so that removed ones do not come back. */
export const SEEDED = 'flavors_seeded'

const GIB_MB = 1024
/** The flavors of a new installation. Those without cards say 0, so that their nodes see no card. */
const FIRST: readonly Flavor[] = [
  { name: 'cpu-small', cpus: 1, gpus: 0, ram: 2 * GIB_MB, duration_s: null },
  { name: 'cpu-large', cpus: 8, gpus: 0, ram: 16 * GIB_MB, duration_s: null },
  { name: 'gpu-small', cpus: 4, gpus: 1, ram: 16 * GIB_MB, duration_s: null },
  { name: 'gpu-large', cpus: 16, gpus: 4, ram: 128 * GIB_MB, duration_s: null },
]

/** The stored flavors. */
export class Flavors {
  readonly #db: Connection
  readonly #all: Statement<Flavor>
  readonly #count: Statement<number>
  readonly #exists: Statement<number>
  readonly #put: Statement
  readonly #delete: Statement

  constructor(db: Connection) {
    this.#db = db
    this.#all = db.prepare('SELECT name, cpus, gpus, ram, duration_s FROM flavors ORDER BY name')
    this.#count = db.prepare('SELECT count(*) FROM flavors').pluck() as Statement<number>
    this.#exists = db.prepare('SELECT 1 FROM flavors WHERE name = ?').pluck() as Statement<number>
    this.#put = db.prepare(
      `INSERT INTO flavors (name, cpus, gpus, ram, duration_s) VALUES (@name, @cpus, @gpus, @ram, @duration_s)
       ON CONFLICT (name) DO UPDATE SET cpus = excluded.cpus, gpus = excluded.gpus, ram = excluded.ram, duration_s = excluded.duration_s`,
    )
    this.#delete = db.prepare('DELETE FROM flavors WHERE name = ?')
  }

  /** By name. */
  list(): Flavor[] {
    return this.#all.all()
  }

  put(flavor: Flavor): Flavor {
    if (this.#exists.get(flavor.name) === undefined && this.#count.get()! >= limits.FLAVORS)
      throw new ServiceError('too_many_flavors', `There are ${limits.FLAVORS} flavors; no more are allowed.`)
    this.#put.run(flavor)
    return flavor
  }

  /** True when there was one. */
  delete(name: string): boolean {
    return this.#delete.run(name).changes > 0
  }

  /** Stores the first flavors, once per installation and only if it has none. Inside the start's transaction. */
  seed(): void {
    const { changes } = this.#db.prepare('INSERT OR IGNORE INTO settings (name, value) VALUES (?, ?)').run(SEEDED, '1')
    if (changes > 0 && this.#count.get() === 0) for (const flavor of FIRST) this.#put.run(flavor)
  }
}
