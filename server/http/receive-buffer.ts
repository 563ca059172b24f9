import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { limits } from '../../protocol/limits.ts'

/**
 * The socket library reads 512 KiB at a time, and reads on for as long as each read fills that: a client that sends faster than we
 * take keeps it in one callback. There a pause has no effect and no other socket is served (measured: 256 MiB of one upload in
 * memory, the event loop blocked for 450 ms). With a kernel buffer smaller than a read, each socket is read once a turn.
 *
 * Node cannot set it on TCP sockets, only on UDP sockets. So a short-lived process sets it through that call on the listening socket that
 * it inherits, and connections take it over. When Node removes `process.binding` this answers
 * null, and `Upload` ends a connection that floods it.
 */
const SCRIPT = `
const { UDP } = process.binding('udp_wrap')
const socket = new UDP()
if (socket.open(3) === 0) {
  socket.bufferSize(${limits.RECEIVE_BUFFER_BYTES}, true, {})
  process.stdout.write(String(socket.bufferSize(0, true, {})))
}
process.reallyExit(0)`

/** Bytes that the kernel keeps for a connection from now on; null where it cannot be told to. */
export function limitReceiveBuffers(port: number): Promise<number | null> {
  const listening = listeningSocket(port)
  if (listening === null) return Promise.resolve(null)
  return new Promise(resolve => {
    const child = spawn(process.execPath, ['--no-warnings', '-e', SCRIPT], {
      stdio: ['ignore', 'pipe', 'ignore', listening],
      env: {},
    })
    let said = ''
    child.stdout!.setEncoding('utf8').on('data', text => (said += text))
    child.on('error', () => resolve(null))
    child.on('close', () => resolve(/^\d+$/.test(said) ? Number(said) : null))
    child.unref()
  })
}

/** The descriptor of this process's socket that listens on the port; null where the system does not tell. */
function listeningSocket(port: number): number | null {
  const address = new RegExp(
    `^ *\\d+: [0-9A-F]+:${port.toString(16).toUpperCase().padStart(4, '0')} [0-9A-F]+:0000 0A `,
  )
  const sockets = new Set<string>()
  for (const table of ['tcp', 'tcp6']) {
    for (const line of lines(`/proc/self/net/${table}`))
      if (address.test(line)) sockets.add(`socket:[${line.trim().split(/\s+/)[9]}]`)
  }
  if (sockets.size === 0) return null
  const found = readdirSync('/proc/self/fd').find(name => sockets.has(target(`/proc/self/fd/${name}`)))
  return found === undefined ? null : Number(found)
}

function lines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch {
    return []
  }
}

function target(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
