/**
 * Bare uWebSockets.js, floor and rival of `fan-out`: the text is ready, every socket is on one topic, and a publish is one
 * call of the library.
 *   listen() -> {port}
 *   publish(FanOutBurst) -> FanOutSpent
 */
import { App, us_socket_local_port, type WebSocket } from 'uWebSockets.js'
import { answer } from '../../partner.ts'
import { type FanOutBurst, paced } from '../fan-out-pace.ts'

const sockets: WebSocket<unknown>[] = []
const app = App()

answer({
  listen: () =>
    new Promise((resolve, reject) => {
      app.ws('/*', {
        maxBackpressure: 64 * 1024 * 1024,
        open: socket => {
          sockets.push(socket)
          socket.subscribe('value')
        },
        message: socket => void socket.send('{}'),
        close: socket => void sockets.splice(sockets.indexOf(socket), 1),
      })
      app.listen('127.0.0.1', 0, token => {
        if (token) resolve({ port: us_socket_local_port(token) })
        else reject(new RangeError('no port'))
      })
    }),
  publish: ({ values, reading, text }: FanOutBurst) => {
    const buffered = (): number[] => sockets.slice(0, reading).map(socket => socket.getBufferedAmount())
    return paced(values, buffered, () => app.publish('value', text))
  },
})
