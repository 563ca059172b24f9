import { dirname } from 'node:path'
import { openWriter } from '../file/database.ts'
import { refusalOf } from '../file/faults.ts'

/** Makes an empty database before the store opens it, on the disk when this returns. Throws the error of the disk. */
export function createDatabase(path: string): void {
  try {
    openWriter(path).close()
  } catch (error) {
    throw refusalOf(error, dirname(path))
  }
}
