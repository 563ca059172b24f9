import { BlockList, isIP, SocketAddress } from 'node:net'
import { ServiceError } from '../../protocol/errors.ts'

const LOOPBACK = /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/

/** Addresses in one spelling: IPv4 dotted (also for IPv4-mapped IPv6), IPv6 compressed. */
export function normalizeAddress(text: string): string | null {
  const trimmed = text.trim()
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(trimmed)?.[1] ?? trimmed
  const family = isIP(mapped)
  if (family === 4) return mapped
  if (family !== 6 || mapped.includes('%')) return null
  const { address } = new SocketAddress({ address: mapped, family: 'ipv6' })
  const dotted = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  return dotted ?? address
}

/** The 4 or 16 bytes of a peer's address as text. */
export function addressOfBytes(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.')
  if (bytes.length !== 16) return '0.0.0.0'
  const groups: string[] = []
  for (let at = 0; at < 16; at += 2) groups.push(((bytes[at]! << 8) | bytes[at + 1]!).toString(16))
  return normalizeAddress(groups.join(':')) ?? '0.0.0.0'
}

/**
 * The name under which an address's failures are counted: IPv4 whole, IPv6 by its first 64 bits, since whoever has one such
 * address has all of them; the loopback addresses of both, which every program of this machine has, together.
 */
export function bucketOf(address: string): string {
  if (address === '::1' || LOOPBACK.test(address)) return 'loopback'
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0')
  return [...left, ...zeros, ...right].slice(0, 4).join(':')
}

/**
 * The proxies whose `X-Forwarded-For` is believed (`TRUSTED_PROXIES`: addresses and CIDRs). With none, the header means nothing and the client is the peer.
 */
export class TrustedProxies {
  readonly #list = new BlockList()
  readonly #empty: boolean

  /** Throws `bad_setting` naming the entry that is neither an address nor a CIDR. */
  constructor(entries: readonly string[]) {
    this.#empty = entries.length === 0
    for (const entry of entries) this.#add(entry)
  }

  #add(entry: string): void {
    const [text = '', prefix, ...more] = entry.split('/')
    const family = isIP(text)
    const bits = family === 4 ? 32 : 128
    const wrong =
      family === 0 || more.length > 0 || (prefix !== undefined && !(/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits))
    if (wrong)
      throw new ServiceError(
        'bad_setting',
        `TRUSTED_PROXIES holds ${JSON.stringify(entry)}, which is neither an address nor a CIDR network.`,
      )
    const type = family === 4 ? 'ipv4' : 'ipv6'
    if (prefix === undefined) this.#list.addAddress(text, type)
    else this.#list.addSubnet(text, Number(prefix), type)
  }

  isTrusted(address: string): boolean {
    return !this.#empty && this.#list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }

  /** Did the client speak https to the outermost proxy, as a trusted one says in `X-Forwarded-Proto`? */
  isHttps(peer: string, forwarded_proto: string): boolean {
    return forwarded_proto.split(',', 1)[0]!.trim().toLowerCase() === 'https' && this.isTrusted(peer)
  }

  /**
   * The client behind `peer`: the right-most entry of `X-Forwarded-For` that no trusted proxy has. What stands left of it was
   * written by the client and proves nothing. An entry that is no address ends the walk at the last good one.
   */
  clientOf(peer: string, forwarded_for: string): string {
    if (forwarded_for === '' || !this.isTrusted(peer)) return peer
    let client = peer
    for (const entry of forwarded_for.split(',').reverse()) {
      const address = normalizeAddress(entry)
      if (address === null) return client
      client = address
      if (!this.isTrusted(address)) return client
    }
    return client
  }
}
