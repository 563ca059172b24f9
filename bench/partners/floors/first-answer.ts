/**
 * The bare runtime, the floor of `start`: Node with uWebSockets.js that answers one request. Prints its port; ends with its stdin.
 */
import { App, us_socket_local_port } from 'uWebSockets.js'

const app = App()
app.get('/*', response => void response.end('ok'))
app.listen('127.0.0.1', 0, token => {
  if (token) console.log(`ready http://127.0.0.1:${us_socket_local_port(token)}`)
})
process.stdin.on('end', () => process.exit(0)).resume()
