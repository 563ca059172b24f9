import type { Method } from './route.ts'

interface Placed {
  readonly method: Method
  readonly path: string
  /** False: a GET route that does not answer HEAD. */
  readonly head?: boolean
}

/** What a path leads to: one leaf for all methods of a path. */
export interface Leaf<Route extends Placed> {
  readonly path: string
  /** By method; what answers GET answers HEAD, too, where the route does not say otherwise. */
  readonly methods: Map<string, Route>
  /** The value of an `Allow` header. */
  allow: string
}

/** The names in one segment: `{flow}.{node}` has two, and its value is cut at the first dot. */
type Names = readonly string[]

interface Branch<Route extends Placed> {
  readonly statics: Map<string, Branch<Route>>
  open: { readonly names: Names; readonly branch: Branch<Route> } | null
  /** Takes all that is left of a path, slashes too. */
  rest: { readonly name: string; readonly leaf: Leaf<Route> } | null
  leaf: Leaf<Route> | null
}

const branch = <Route extends Placed>(): Branch<Route> => ({
  statics: new Map(),
  open: null,
  rest: null,
  leaf: null,
})
const PARAMETER_SEGMENT = /^\{[a-z_]+\}(\.\{[a-z_]+\})*$/
const REST_SEGMENT = /^\{([a-z_]+)\*\}$/

/**
 * Finds the leaf of a path, one map look-up a segment. A literal segment comes before a named one, and `{name*}`, which stands last and takes
 * the rest of the path, after both.
 */
export class RouteTree<Route extends Placed> {
  readonly #root: Branch<Route> = branch()

  constructor(routes: readonly Route[]) {
    for (const route of routes) this.#add(route)
  }

  #add(route: Route): void {
    let at = this.#root
    for (const segment of route.path.slice(1).split('/')) {
      const rest = REST_SEGMENT.exec(segment)
      if (rest !== null) {
        if (!route.path.endsWith(`/${segment}`)) throw new TypeError(`route ${route.path}: ${segment} must stand last`)
        at.rest ??= { name: rest[1]!, leaf: { path: route.path, methods: new Map(), allow: '' } }
        return addTo(at.rest.leaf, route)
      }
      if (!segment.includes('{')) {
        const next = at.statics.get(segment) ?? branch<Route>()
        at.statics.set(segment, next)
        at = next
        continue
      }
      if (!PARAMETER_SEGMENT.test(segment))
        throw new TypeError(`route ${route.path}: cannot read the segment ${segment}`)
      const names = segment.split('.').map(part => part.slice(1, -1))
      at.open ??= { names, branch: branch() }
      if (at.open.names.join() !== names.join())
        throw new TypeError(`route ${route.path}: ${segment} has another name elsewhere`)
      at = at.open.branch
    }
    at.leaf ??= { path: route.path, methods: new Map(), allow: '' }
    addTo(at.leaf, route)
  }

  /** The leaf of a path, or null. `params` receives the decoded values; it is left half filled when there is no leaf. */
  find(path: string, params: Record<string, string>): Leaf<Route> | null {
    let at = this.#root
    let rest: Branch<Route>['rest'] = null
    let rest_start = 1
    let start = 1
    for (;;) {
      if (at.rest !== null) {
        rest = at.rest
        rest_start = start
      }
      const slash = path.indexOf('/', start)
      const segment = slash < 0 ? path.slice(start) : path.slice(start, slash)
      const next = at.statics.get(segment)
      if (next) at = next
      else if (at.open !== null && segment !== '') {
        if (!take(at.open.names, segment, params)) return null
        at = at.open.branch
      } else break
      if (slash < 0) {
        if (at.leaf !== null) return at.leaf
        break
      }
      start = slash + 1
    }
    if (rest === null) return null
    const value = decode(path.slice(rest_start))
    if (value === null) return null
    params[rest.name] = value
    return rest.leaf
  }
}

function addTo<Route extends Placed>(leaf: Leaf<Route>, route: Route): void {
  if (leaf.methods.has(route.method)) throw new TypeError(`route ${route.method} ${route.path} is declared twice`)
  leaf.methods.set(route.method, route)
  if (route.method === 'GET' && route.head !== false) leaf.methods.set('HEAD', route)
  leaf.allow = [...leaf.methods.keys(), 'OPTIONS'].sort().join(', ')
}

/** False when the segment cannot be decoded or has too few parts. */
function take(names: Names, segment: string, params: Record<string, string>): boolean {
  let rest = segment.includes('%') ? decode(segment) : segment
  if (rest === null) return false
  for (let index = 0; index < names.length - 1; index++) {
    const dot = rest.indexOf('.')
    if (dot < 0) return false
    params[names[index]!] = rest.slice(0, dot)
    rest = rest.slice(dot + 1)
  }
  params[names[names.length - 1]!] = rest
  return true
}

/** Null when the text is not percent-encoded UTF-8. */
export function decode(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
