import { unlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export default () => {
  unlinkSync(fileURLToPath(import.meta.url))
  return { y: 1 }
}
