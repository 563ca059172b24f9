import { fstatSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { limits } from '../../../protocol/limits.ts'

/** The descriptor under which the supervisor hands its standard output to the engine; 3 is their channel. */
export const LOG_OUTPUT = 4

/**
 * Where lines of the log go beside serve.log: a file, or a pipe that somebody reads. Nobody waits for a reader: while much is unread, lines
 * are left out here; serve.log has them.
 */
export function logOutput(descriptor: number): (bytes: Uint8Array) => void {
  const kind = fstatSync(descriptor)
  if (!kind.isFIFO() && !kind.isSocket()) {
    return bytes => {
      try {
        writeSync(descriptor, bytes)
      } catch {
        // A full disk; serve.log says so.
      }
    }
  }
  const pipe = new Socket({ fd: descriptor, readable: false, writable: true })
  // A reader that went away is no reason to end.
  pipe.on('error', () => {}).unref()
  return bytes => {
    if (pipe.writable && pipe.writableLength < limits.LOG_OUTPUT_BYTES) pipe.write(bytes)
  }
}
