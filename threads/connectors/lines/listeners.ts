import { createSocket, type Socket as Datagrams } from 'node:dgram'
import { once } from 'node:events'
import { chmodSync, closeSync, constants, existsSync, fstatSync, openSync, readSync, rmSync, statSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { limits } from '../../../protocol/limits.ts'
import type { LinesAddress } from '../../nodes/lines-address.ts'
import { BackOff } from '../back-off.ts'
import type { Shareable } from '../connector.ts'
import { LineBlocks } from './line-blocks.ts'

/** Who takes the lines of a place. All that listen there get all of them. */
export interface LinesTaker {
  /** Whole lines, good during the call only. A promise holds the sender back until it resolves; `connection` tells senders apart. */
  take(block: Buffer, connection: object): Promise<void> | null
  /** The sender can not be held back: what does not fit is dropped. */
  takeNow(block: Buffer, connection: object): void
  lost(reason: string, count: number): void
  up(port: number | null): void
  down(reason: string): void
}

/** A place where lines come from, shared by every node that names it: it is opened again, later and later, when it cannot be. */
export abstract class Lines implements Shareable {
  readonly takers = new Set<LinesTaker>()
  protected readonly address: LinesAddress
  protected closed = false
  #state: { readonly port: number | null } | { readonly reason: string } | null = null
  readonly #back_off: BackOff
  #again: NodeJS.Timeout | null = null

  constructor(address: LinesAddress, random: () => number) {
    this.address = address
    this.#back_off = new BackOff(random)
  }

  add(taker: LinesTaker): void {
    this.takers.add(taker)
    if (this.#state === null) return
    if ('reason' in this.#state) taker.down(this.#state.reason)
    else taker.up(this.#state.port)
  }

  /** Once. */
  begin(): void {
    this.open().catch(error => this.failed(sentence(error)))
  }

  async close(): Promise<void> {
    this.closed = true
    if (this.#again !== null) clearTimeout(this.#again)
    await this.end()
  }

  protected abstract open(): Promise<void>
  protected abstract end(): void | Promise<void>

  protected opened(port: number | null): void {
    this.#back_off.succeeded()
    this.#state = { port }
    for (const taker of this.takers) taker.up(port)
  }

  protected failed(reason: string): void {
    if (this.closed || this.#again !== null) return
    this.#state = { reason: `${this.address.key}: ${reason}` }
    for (const taker of this.takers) taker.down(this.#state.reason)
    this.#again = setTimeout(() => {
      this.#again = null
      this.begin()
    }, this.#back_off.failed())
  }

  protected lost(reason: string, count: number): void {
    for (const taker of this.takers) taker.lost(reason, count)
  }

  /** Resolves when every taker has taken it; null: all have already. The block is copied for those that have not. */
  protected give(block: Buffer, connection: object): Promise<unknown> | null {
    let waiting: Promise<void>[] | null = null
    for (const taker of this.takers) {
      const held = taker.take(block, connection)
      if (held !== null) (waiting ??= []).push(held)
    }
    return waiting === null ? null : Promise.all(waiting)
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the address is in use',
  EACCES: 'this user may not use it',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOENT: 'there is no such file or folder',
  EISDIR: 'it is a folder',
  ENOTFOUND: 'the host is not known',
}

function sentence(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return (code === undefined ? undefined : REASONS[code]) ?? message
}

/** TCP and Unix sockets: a sender is held back by not reading on. */
export class StreamLines extends Lines {
  readonly #connections = new Set<Socket>()
  #server: Server | null = null

  protected async open(): Promise<void> {
    const { address } = this
    const server = createServer({ pauseOnConnect: false }, socket => this.#accept(socket))
    server.on('error', error => {
      this.#server = null
      this.failed(sentence(error))
    })
    if (address.kind === 'unix') {
      if (!existsSync(dirname(address.path))) throw new Error(`there is no folder ${dirname(address.path)}`)
      await forgetStale(address.path)
      server.listen(address.path)
    } else if (address.kind === 'tcp') server.listen(address.port, address.host)
    await once(server, 'listening')
    if (this.closed) {
      server.close()
      return
    }
    if (address.kind === 'unix') chmodSync(address.path, 0o600)
    this.#server = server
    const bound = server.address()
    this.opened(typeof bound === 'object' && bound !== null ? bound.port : null)
  }

  protected end(): void {
    for (const socket of this.#connections) socket.destroy()
    this.#server?.close()
  }

  #accept(socket: Socket): void {
    socket.on('error', () => socket.destroy())
    if (this.#connections.size >= limits.LINES_CONNECTIONS) {
      this.lost('too_many_connections', 1)
      socket.destroy()
      return
    }
    this.#connections.add(socket)
    const blocks = new LineBlocks()
    let held: Promise<unknown>[] = []
    // A line that is begun and not ended for so long: its sender has forgotten it, or means no good. Bytes of the same line gain no time.
    let open: NodeJS.Timeout | null = null
    const forget = (): void => {
      if (open !== null) clearTimeout(open)
      open = null
    }
    const begun = (): void => {
      open = setTimeout(() => {
        if (socket.isPaused()) return begun()
        this.lost('line_not_ended', 1)
        socket.destroy()
      }, limits.LINE_OPEN_MS)
    }
    const take = (block: Buffer): void => {
      forget()
      const waiting = this.give(block, socket)
      if (waiting !== null) held.push(waiting)
    }
    const look = (): void => {
      if (blocks.too_long === 0) return
      this.lost('line_too_long', blocks.too_long)
      blocks.too_long = 0
    }
    socket.on('data', piece => {
      blocks.push(piece as Buffer, take)
      look()
      if (!blocks.isOpen) forget()
      else if (open === null) begun()
      if (held.length === 0) return
      socket.pause()
      const waiting = held
      held = []
      Promise.all(waiting).then(
        () => socket.resume(),
        () => socket.destroy(),
      )
    })
    socket.on('end', () => blocks.end(take))
    socket.on('close', () => {
      forget()
      this.#connections.delete(socket)
    })
  }
}

/** A socket of a process that is gone is in the way of the next one. */
async function forgetStale(path: string): Promise<void> {
  if (statSync(path, { throwIfNoEntry: false })?.isSocket() !== true) return
  const socket = connect(path)
  const answers = await new Promise<boolean>(resolve => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  })
  socket.destroy()
  if (!answers) rmSync(path, { force: true })
}

/** UDP: nobody can be held back. */
export class DatagramLines extends Lines {
  #socket: Datagrams | null = null

  protected async open(): Promise<void> {
    const { address } = this
    if (address.kind !== 'udp') return
    const socket = createSocket({
      type: address.host.includes(':') ? 'udp6' : 'udp4',
      recvBufferSize: limits.LINES_UDP_BUFFER_BYTES,
    })
    const blocks = new LineBlocks()
    socket.on('error', error => {
      this.#socket = null
      socket.close()
      this.failed(sentence(error))
    })
    socket.on('message', datagram => {
      const take = (block: Buffer): void => {
        for (const taker of this.takers) taker.takeNow(block, this)
      }
      blocks.push(datagram, take)
      blocks.end(take)
    })
    socket.bind(address.port, address.host)
    await once(socket, 'listening')
    if (this.closed) {
      socket.close()
      return
    }
    this.#socket = socket
    this.opened(socket.address().port)
  }

  protected end(): void {
    this.#socket?.close()
  }
}

/** A file that grows. One that is replaced or cut is read from its start. */
export class FileLines extends Lines {
  readonly #from_start: boolean
  #file = -1
  #inode = 0
  #at = 0
  #timer: NodeJS.Timeout | null = null
  #blocks = new LineBlocks()
  #connection = {}
  readonly #piece = Buffer.allocUnsafe(limits.LINES_FILE_PIECE_BYTES)

  constructor(address: LinesAddress, from_start: boolean, random: () => number) {
    super(address, random)
    this.#from_start = from_start
  }

  protected async open(): Promise<void> {
    this.#openFile(!this.#from_start && this.#inode === 0)
    this.opened(null)
    this.#arm(0)
  }

  protected end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#closeFile()
  }

  #openFile(at_end: boolean): void {
    if (this.address.kind !== 'file') return
    // To open a pipe would wait for who writes to it.
    this.#file = openSync(this.address.path, constants.O_RDONLY | constants.O_NONBLOCK)
    const stats = fstatSync(this.#file)
    if (!stats.isFile()) {
      this.#closeFile()
      throw new Error('it is not a file')
    }
    const { ino, size } = stats
    this.#inode = ino
    this.#at = at_end ? size : 0
    this.#blocks = new LineBlocks()
    this.#connection = {}
  }

  #closeFile(): void {
    if (this.#file !== -1) closeSync(this.#file)
    this.#file = -1
  }

  #arm(ms: number): void {
    if (this.closed) return
    this.#timer = setTimeout(() => {
      this.#read().then(
        more => this.#arm(more ? 0 : limits.LINES_FILE_LOOK_MS),
        error => {
          this.#closeFile()
          this.failed(sentence(error))
        },
      )
    }, ms)
  }

  /** Resolves with whether there is more at once. */
  async #read(): Promise<boolean> {
    const length = readSync(this.#file, this.#piece, 0, this.#piece.length, this.#at)
    if (length > 0) {
      this.#at += length
      const held: Promise<unknown>[] = []
      this.#blocks.push(this.#piece.subarray(0, length), block => {
        const waiting = this.give(block, this.#connection)
        if (waiting !== null) held.push(waiting)
      })
      await Promise.all(held)
      return true
    }
    if (this.address.kind !== 'file') return false
    const { ino } = statSync(this.address.path)
    if (ino !== this.#inode || fstatSync(this.#file).size < this.#at) {
      this.#closeFile()
      this.#openFile(false)
      return true
    }
    return false
  }
}
