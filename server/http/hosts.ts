import { isIP } from 'node:net'
import { normalizeAddress } from '../auth/client-address.ts'

const HOST_AND_PORT = /^(\[[^\]]*\]|[^:]*)(?::\d+)?$/
const LOOPBACK = /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/
/** Every address of the machine. */
const WILDCARDS = new Set(['0.0.0.0', '::'])

/** A host name in lower case or an IP address in its one spelling, without brackets. */
function spelled(text: string): string {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text
  return normalizeAddress(bare) ?? bare.toLowerCase()
}

/**
 * The host names under which requests are accepted: the loopback names, the address that the engine listens on, and those of ALLOWED_HOSTS. A
 * page whose own name its owner lets point to this machine (DNS rebinding) sends that name, and is refused. Ports are not looked at:
 * a tunnel or a proxy may have another one. An engine that listens on every address of the machine takes any IP address: no page
 * can be served under an address other than its own.
 */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>
  readonly #any_address: boolean

  /** `listening` is the address that the engine listens on; the entries are names and addresses without a port. */
  constructor(entries: readonly string[], listening: string) {
    this.#names = new Set(['localhost', '::1', spelled(listening), ...entries.map(spelled)])
    this.#any_address = WILDCARDS.has(spelled(listening))
  }

  /** `host` is a well-formed Host header. */
  allows(host: string): boolean {
    const name = spelled(HOST_AND_PORT.exec(host)?.[1] ?? '')
    if (this.#names.has(name)) return true
    return isIP(name) !== 0 && (this.#any_address || LOOPBACK.test(name))
  }
}

/** `http://host:8700` and `host:8700`; the default port may be left out on either side. */
export function isSameHost(origin: string, host: string): boolean {
  const match = /^(https?):\/\/([^/?#\s]+)$/i.exec(origin)
  if (!match) return false
  const port = match[1]!.toLowerCase() === 'https' ? ':443' : ':80'
  const bare = (text: string): string => (text.endsWith(port) ? text.slice(0, -port.length) : text).toLowerCase()
  return bare(match[2]!) === bare(host)
}
