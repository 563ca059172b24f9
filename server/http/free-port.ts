import { createServer } from 'node:net'
import { ServiceError } from '../../protocol/errors.ts'

/**
 * A port of `host` that is free now. Asking the kernel for one while binding is not enough: the socket library sets SO_REUSEADDR
 * only for a port that it is given, and without that an engine that is started again after a crash cannot have its port back
 * while connections of the one before linger (a minute).
 */
export function freePort(host: string): Promise<number> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', () => reject(new ServiceError('address_in_use', `Nothing can listen on ${host}.`)))
    server.listen({ host, port: 0, exclusive: true }, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
