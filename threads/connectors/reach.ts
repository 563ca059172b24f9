import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/** An address that no connector may reach. The message is a sentence without its full stop. */
export class AddressRefused extends Error {
  constructor(host: string, address: string) {
    super(
      host === address
        ? `connectors may not reach ${address}`
        : `${host} is ${address}, which connectors may not reach`,
    )
  }
}

/** Networks as `10.0.0.0/8` or a single address. */
export interface ReachRules {
  /** Exceptions from everything that is refused. */
  readonly allow: readonly string[]
  /** Refused besides `REFUSED`. */
  readonly deny: readonly string[]
}

/** How a name becomes addresses: `dns.lookup`. */
export type Resolve = (
  name: string,
  options: LookupAllOptions,
  done: (error: Error | null, addresses: LookupAddress[]) => void,
) => void

/**
 * What no connector reaches unless it is allowed: link-local addresses and the metadata services of clouds, which give credentials of the
 * machine to whoever asks, and addresses that name no host (`0.0.0.0` reaches this machine past a rule about 127.0.0.0/8).
 */
export const REFUSED: readonly string[] = [
  '169.254.0.0/16',
  'fe80::/10',
  'fd00:ec2::254',
  'fd20:ce::254',
  '100.100.100.200',
  '168.63.129.16',
  '0.0.0.0/8',
  '::',
]

/** IPv4 addresses in IPv6 clothes, by their first six groups: mapped, compatible, NAT64. */
const WRAPPED: readonly string[] = ['0,0,0,0,0,65535', '0,0,0,0,0,0', '100,65435,0,0,0,0']

/**
 * Which addresses connectors may reach. The address that a connection is made to is the one that was looked at: names are resolved by
 * `lookup`, which a socket calls at each connect, so a name that points elsewhere a moment later (DNS rebinding) gains nothing.
 */
export class Reach {
  readonly #allowed: BlockList
  readonly #refused: BlockList
  readonly #resolve: Resolve

  constructor({ allow, deny }: ReachRules, resolve: Resolve = lookup as Resolve) {
    this.#allowed = listOf(allow)
    this.#refused = listOf([...REFUSED, ...deny])
    this.#resolve = resolve
  }

  /** `address` is an IP address in any spelling. */
  mayReach(address: string): boolean {
    const plain = address.replace(/%.*$/, '')
    const spellings = [plain, ...embedded(plain)]
    if (spellings.some(one => isIn(this.#allowed, one))) return true
    return !spellings.some(one => isIn(this.#refused, one))
  }

  /** For hosts that are addresses: sockets do not look those up. Throws `AddressRefused`. */
  assertHost(host: string): void {
    const bare = host.startsWith('[') ? host.slice(1, -1) : host
    if (isIP(bare) !== 0 && !this.mayReach(bare)) throw new AddressRefused(bare, bare)
  }

  /** In place of `dns.lookup`, for sockets. Addresses that may not be reached are left out. */
  readonly lookup: LookupFunction = (host, options, done) => {
    this.#resolve(host, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, '', 0)
      const reached = addresses.filter(({ address }) => this.mayReach(address))
      const [first] = reached
      if (first === undefined) return done(new AddressRefused(host, addresses[0]?.address ?? host), '', 0)
      if (options.all) done(null, reached)
      else done(null, first.address, first.family)
    })
  }
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}

const isIn = (list: BlockList, address: string): boolean => list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')

/** The IPv4 address inside of an IPv6 address, if it is such a one. */
function embedded(address: string): string[] {
  if (isIP(address) !== 6) return []
  // The URL parser has one spelling for each address: groups in hexadecimal, the longest run of zeros as `::`.
  const [head = '', tail = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  const groups = [...before, ...zeros, ...after].map(group => Number.parseInt(group, 16))
  if (!WRAPPED.includes(groups.slice(0, 6).join())) return []
  const [high = 0, low = 0] = groups.slice(6)
  // `::` and `::1` are addresses of their own.
  return high === 0 && low < 2 ? [] : [`${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`]
}
