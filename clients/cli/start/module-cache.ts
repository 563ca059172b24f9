import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Keeps what the load hooks keep (quick-loading.js) from growing with every edit and every release of Node: past `most_bytes`
 * the oldest files are removed until half of that is left. A file that is still needed is made again. Returns how
 * many were removed. A folder that does not exist or cannot be changed is left alone.
 */
export async function boundModuleCache(folder: string, most_bytes: number): Promise<number> {
  const files: { path: string; bytes: number; made_ms: number }[] = []
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const found = await stat(path).catch(() => null)
    if (found !== null) files.push({ path, bytes: found.size, made_ms: found.mtimeMs })
  }
  let bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  if (bytes <= most_bytes) return 0
  files.sort((a, b) => a.made_ms - b.made_ms)
  let gone = 0
  for (const file of files) {
    if (bytes <= most_bytes / 2) break
    if (!(await rm(file.path).then(succeeded, failed))) continue
    bytes -= file.bytes
    gone++
  }
  return gone
}

const succeeded = (): boolean => true
const failed = (): boolean => false
