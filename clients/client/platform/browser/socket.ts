import type { OpenSocket } from '../../socket.ts'

/**
 * The token goes as a subprotocol, since a page cannot set headers here; without one the browser sends the cookie of its session. Nor is it told why a connection was refused: a request with the same token is
 * asked for the status.
 */
export const openSocket: OpenSocket = ({ url, token }, path, protocol, listener) => {
  const socket = new WebSocket(
    url.replace(/^http/, 'ws') + path,
    token === null ? [protocol] : [protocol, `bearer.${token}`],
  )
  socket.binaryType = 'arraybuffer'
  let wasOpen = false
  let isClosed = false
  socket.onopen = () => {
    wasOpen = true
    listener.opened()
  }
  socket.onmessage = ({ data }) => {
    if (typeof data === 'string') listener.text(data)
    else listener.binary(new Uint8Array(data as ArrayBuffer))
  }
  socket.onclose = async () => {
    if (!wasOpen && !isClosed) {
      const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` }
      try {
        const answer = await fetch(`${url}/users/me`, {
          headers,
          credentials: token === null ? 'same-origin' : 'omit',
        })
        await answer.body?.cancel()
        listener.refused(answer.ok ? null : answer.status, new Error('the connection was refused'))
      } catch (error) {
        listener.refused(null, error)
      }
    }
    listener.closed()
  }
  return {
    send: text => socket.send(text),
    close: () => {
      isClosed = true
      socket.close()
    },
  }
}
