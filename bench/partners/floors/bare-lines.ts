/**
 * The floor of `lines`: a TCP server that cuts lines and parses line protocol without escapes, calls a body with the fields, and keeps nothing.
 *   listen() -> {port}
 *   taken() -> {lines}   so far
 */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { answer } from '../../partner.ts'

let lines = 0
let sum = 0

const body = ({ temperature, pressure, speed, load }: Record<string, number>): void => {
  sum += temperature! + pressure! + speed! + load!
}

function parse(line: string): void {
  const [, fields = ''] = line.split(' ')
  const read: Record<string, number> = {}
  for (const field of fields.split(',')) {
    const equals = field.indexOf('=')
    const text = field.slice(equals + 1)
    read[field.slice(0, equals)] = Number(text.endsWith('i') ? text.slice(0, -1) : text)
  }
  body(read)
  lines++
}

answer({
  async listen() {
    const server = createServer(socket => {
      let rest = ''
      socket.setEncoding('utf8').on('data', piece => {
        const parts = (rest + piece).split('\n')
        rest = parts.pop()!
        for (const line of parts) parse(line)
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return { port: (server.address() as AddressInfo).port }
  },
  taken: () => ({ lines, sum }),
})
