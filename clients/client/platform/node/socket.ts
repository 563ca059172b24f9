import { WebSocket } from 'ws'
import type { OpenSocket } from '../../socket.ts'

const HANDSHAKE_TIMEOUT_MS = 5_000
const PING_MS = 15_000
const FRAME_BYTES = 64 * 1024 * 1024

/** A connection whose other end answers no ping for 15 s is closed. */
export const openSocket: OpenSocket = ({ url, token }, path, protocol, listener) => {
  const socket = new WebSocket(url.replace(/^http/, 'ws') + path, [protocol], {
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    maxPayload: FRAME_BYTES,
    perMessageDeflate: false,
  })
  let wasOpen = false
  let isRefused = false
  let hasPonged = true
  const pinging = setInterval(() => {
    if (!hasPonged) return socket.terminate()
    if (socket.readyState !== WebSocket.OPEN) return
    hasPonged = false
    socket.ping()
  }, PING_MS)
  const refuse = (status: number | null, reason: unknown): void => {
    // What goes wrong later is told by `closed`. The end of a refused connection is an error too.
    if (wasOpen || isRefused) return
    isRefused = true
    listener.refused(status, reason)
  }
  socket.on('pong', () => (hasPonged = true))
  socket.on('open', () => {
    wasOpen = true
    listener.opened()
  })
  socket.on('message', (data, isBinary) => {
    if (isBinary) listener.binary(data as Buffer)
    else listener.text(String(data))
  })
  socket.on('unexpected-response', (_request, response) => {
    response.resume()
    refuse(response.statusCode!, null)
    socket.terminate()
  })
  socket.on('error', error => refuse(null, error))
  socket.on('close', () => {
    clearInterval(pinging)
    listener.closed()
  })
  return { send: text => socket.send(text), close: () => socket.terminate() }
}
