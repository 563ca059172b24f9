// Two packages come in hundreds of small modules: 683 of typebox and 46 of jose, of the engine's 960. Finding, opening and reading
// each costs more than compiling it. This hook reads a package's modules from one file, made when it is missing, and resolves
// the relative imports inside the package without asking the disk. docs/decisions/0010-modules-load-from-caches.md has the figures.
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { threadId } from 'node:worker_threads'

/** Packages whose files are ECMAScript modules throughout, with the folder that holds these. */
const PACKED = ['typebox/build/', 'jose/dist/webapi/']

const packages = new URL('../../../node_modules/', import.meta.url)
const roots = PACKED.map(folder => new URL(folder, packages).href)
/** Root of a package's modules -> {path from there: source}; null where a pack can be neither read nor made. */
const packs = new Map()

registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith('.') && rootOf(context.parentURL) !== undefined) {
      const url = new URL(specifier, context.parentURL).href
      if (sourceOf(url) !== undefined) return { url, format: 'module', shortCircuit: true }
    }
    return next(specifier, context)
  },
  load(url, context, next) {
    const source = sourceOf(url)
    return source === undefined ? next(url, context) : { format: 'module', source, shortCircuit: true }
  },
})

function rootOf(url) {
  return url === undefined ? undefined : roots.find(root => url.startsWith(root))
}

function sourceOf(url) {
  const root = rootOf(url)
  if (root === undefined) return undefined
  let pack = packs.get(root)
  if (pack === undefined) packs.set(root, (pack = packFor(root)))
  return pack?.[url.slice(root.length)]
}

/** A pack belongs to one version of its package; an edit by hand below node_modules is not seen until the pack is removed. */
function packFor(root) {
  try {
    const name = root.slice(packages.href.length).split('/')[0]
    const { version } = JSON.parse(readFileSync(new URL(`${name}/package.json`, packages), 'utf8'))
    const file = new URL(`.cache/svc/${name}-${version}.json`, packages)
    return read(file) ?? make(root, file)
  } catch {
    return null
  }
}

function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}

function make(root, file) {
  const folder = new URL(root)
  const names = readdirSync(folder, { recursive: true }).filter(name => /\.m?js$/.test(name))
  const pack = Object.fromEntries(names.map(name => [name, readFileSync(new URL(name, folder), 'utf8')]))
  try {
    const temporary = new URL(`${file.href}.${process.pid}.${threadId}`)
    mkdirSync(new URL('./', file), { recursive: true })
    writeFileSync(temporary, JSON.stringify(pack))
    renameSync(fileURLToPath(temporary), fileURLToPath(file))
  } catch {}
  return pack
}
