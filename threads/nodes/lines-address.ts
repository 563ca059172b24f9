/** Where lines come from. `key`: the same for all nodes that mean the same place. */
export type LinesAddress =
  | { readonly kind: 'tcp' | 'udp'; readonly host: string; readonly port: number; readonly key: string }
  | { readonly kind: 'unix' | 'file'; readonly path: string; readonly key: string }

const NET = /^(tcp|udp):\/\/(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]*):(\d{1,5})$/
const PATH = /^(unix|file):\/\/(\/[^\0]+)$/

/** Null: it is no such address. */
export function linesAddress(listen: string): LinesAddress | null {
  const net = NET.exec(listen)
  if (net !== null) {
    const port = Number(net[3])
    if (port > 65_535) return null
    const host = net[2]!.replace(/^\[|\]$/g, '') || '127.0.0.1'
    return {
      kind: net[1] as 'tcp' | 'udp',
      host,
      port,
      key: `${net[1]}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    }
  }
  const local = PATH.exec(listen)
  return local === null ? null : { kind: local[1] as 'unix' | 'file', path: local[2]!, key: listen }
}
