/**
 * Sends line protocol over TCP as fast as it is taken.
 *   send({port, lines}) -> {}   when the last byte is handed to the kernel
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { answer } from '../../partner.ts'

const LINES_A_WRITE = 500
/** Made once: what is measured is the other side. */
const block = Buffer.from(
  Array.from(
    { length: LINES_A_WRITE },
    (_, at) =>
      `machine,room=north,unit=${at % 10} temperature=${(20 + at / 100).toFixed(2)},pressure=${1000 + (at % 50)},speed=${at}i,load=0.${100 + at} ${1_700_000_000_000_000_000n + BigInt(at)}\n`,
  ).join(''),
)

answer({
  async send({ port, lines }: { port: number; lines: number }) {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    for (let sent = 0; sent < lines; sent += LINES_A_WRITE) if (!socket.write(block)) await once(socket, 'drain')
    socket.end()
    await once(socket, 'close')
    return {}
  },
})
