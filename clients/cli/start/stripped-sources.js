// Node strips the types of our sources each time it loads them: some 40 ms for the first file of a process and 2 ms for each
// further one, half of what the engine needs to start. This hook keeps what was stripped, by the digest of the source, so that
// it is done once for each version of a file. docs/decisions/0010-modules-load-from-caches.md has the figures.
import { hash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { threadId } from 'node:worker_threads'

const root = new URL('../../../', import.meta.url).href
const packages = `${root}node_modules/`
const folder = new URL(`.cache/svc/${process.version}/`, packages)

// Only our own sources: what user code imports is none of this cache's business.
const isOurs = url => url !== undefined && url.endsWith('.ts') && url.startsWith(root) && !url.startsWith(packages)

registerHooks({
  resolve(specifier, context, next) {
    if (!specifier.startsWith('.') || !specifier.endsWith('.ts') || !isOurs(context.parentURL)) return next(specifier, context)
    const url = new URL(specifier, context.parentURL)
    return existsSync(url) ? { url: url.href, format: 'module', shortCircuit: true } : next(specifier, context)
  },
  load(url, context, next) {
    if (!isOurs(url)) return next(url, context)
    const source = readFileSync(new URL(url), 'utf8')
    const digest = hash('sha1', source)
    const code = kept(digest) ?? strip(source, digest)
    return code === null ? next(url, context) : { format: 'module', source: code, shortCircuit: true }
  },
})

/** A file that was cut short, by a power cut say, does not end in its digest. */
function kept(digest) {
  try {
    const code = readFileSync(new URL(`${digest}.js`, folder), 'utf8')
    return code.endsWith(digest) ? code : null
  } catch {
    return null
  }
}

/** Null when Node has to say what is wrong with the source. A cache that cannot be written costs time and nothing else. */
function strip(source, digest) {
  let code
  try {
    code = `${stripTypeScriptTypes(source)}\n//${digest}`
  } catch {
    return null
  }
  try {
    mkdirSync(folder, { recursive: true })
    const temporary = new URL(`${digest}.${process.pid}.${threadId}`, folder)
    writeFileSync(temporary, code)
    renameSync(temporary, new URL(`${digest}.js`, folder))
  } catch {}
  return code
}
