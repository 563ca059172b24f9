import { fstatSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { limits } from '../../../protocol/limits.ts'

/** The descriptor under which the supervisor hands its standard output to the engine; 3 is their channel. */
export const LOG_OUTPUT = 4

/**
 * The output of the log besides serve.log: a file, or a pipe. The engine never waits for a reader: while much is unread, lines
 * are left out here; serve.log has all of them.
 */
export function logOutput(descriptor: number): (bytes: Uint8Array) => void {
  const kind = fstatSync(descriptor)
  if (!kind.isFIFO() && !kind.isSocket()) {
    return bytes => {
      try {
        writeSync(descriptor, bytes)
      } catch {
        // The disk is full; serve.log tells it.
      }
    }
  }
  const pipe = new Socket({ fd: descriptor, readable: false, writable: true })
  // The engine goes on when the reader has closed the pipe.
  pipe.on('error', () => {}).unref()
  return bytes => {
    if (pipe.writable && pipe.writableLength < limits.LOG_OUTPUT_BYTES) pipe.write(bytes)
  }
}
