import { createPrivateKey } from 'node:crypto'
import { closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Writes a file of mode 600 in one step: readers see the old text or the new one, never a part. `durable` survives a power
 * cut (two fsyncs, some milliseconds). The caller holds the installation's lock, so the temporary name has one writer.
 */
export function writePrivate(path: string, text: string | Buffer, options: { durable?: boolean } = {}): void {
  const temporary = `${path}.new`
  rmSync(temporary, { force: true })
  const file = openSync(temporary, 'wx', 0o600)
  try {
    fchmodSync(file, 0o600)
    writeSync(file, text.toString())
    if (options.durable) fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(temporary, path)
  if (!options.durable) return
  const directory = openSync(dirname(path), 'r')
  fsyncSync(directory)
  closeSync(directory)
}

/** Is this an Ed25519 private key in PEM? */
export function isPrivateKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'ed25519'
  } catch {
    return false
  }
}
