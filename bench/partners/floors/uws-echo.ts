/**
 * Bare uWebSockets.js, the floor of `live-latency`: what one socket sends goes to every other one, untouched. One thread.
 *   listen() -> {port}
 */
import { App, us_socket_local_port } from 'uWebSockets.js'
import { answer } from '../../partner.ts'

answer({
  listen: () =>
    new Promise((resolve, reject) => {
      const app = App()
      app.ws('/*', {
        maxBackpressure: 64 * 1024 * 1024,
        open: socket => void socket.subscribe('all'),
        message: (socket, message, isBinary) => void socket.publish('all', message, isBinary),
      })
      app.listen('127.0.0.1', 0, token => {
        if (token) resolve({ port: us_socket_local_port(token) })
        else reject(new RangeError('no port'))
      })
    }),
})
