import { existsSync } from 'node:fs'
import { after } from 'node:test'
import { type Browser, chromium } from 'playwright-core'

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const executablePath = PATHS.find(path => existsSync(path))

/** For the options of a test that needs a browser: why it cannot run here, or false. */
export const skip = executablePath === undefined ? `needs Chromium: none of ${PATHS.join(', ')} is installed` : false

let browser: Promise<Browser> | null = null

/** One browser for the file; it ends with its tests. */
export function launched(): Promise<Browser> {
  return (browser ??= chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox'] }))
}

after(async () => (await browser)?.close())
