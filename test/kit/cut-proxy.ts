import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Passes connections on to a port of this machine; a test cuts them, as a network does. */
export class CutProxy {
  readonly port: number
  readonly #sockets: Set<Socket>

  private constructor(port: number, sockets: Set<Socket>) {
    this.port = port
    this.#sockets = sockets
  }

  static async start(t: { after(end: () => unknown): void }, to_port: number): Promise<CutProxy> {
    const sockets = new Set<Socket>()
    const server = createServer(near => {
      const far = connect(to_port, '127.0.0.1')
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(from)
        from
          .on('error', () => {})
          .on('close', () => {
            sockets.delete(from)
            to.destroy()
          })
        from.pipe(to)
      }
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const proxy = new CutProxy((server.address() as AddressInfo).port, sockets)
    t.after(() => {
      proxy.cut()
      server.close()
    })
    return proxy
  }

  /** All connections that there are; later ones pass. Not with a reset: Node 22 may then wait for ever at the end of its process. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}
