import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { Client } from '../../clients/client/index.ts'
import type { CreateUser } from '../../protocol/nouns/accounts/user.ts'
import { launched } from './chromium.ts'
import type { LiveEngine } from './live-engine.ts'
import { ROOT } from './sources.ts'

/** Built once for all test files, and again only when its sources are newer. Engines read which files there are when they start. */
export function buildWebApp(): void {
  execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', 'clients/web/build.ts', '--if-older'], {
    cwd: ROOT,
    stdio: 'inherit',
  })
}

/** A client with the rights of whoever started the engine. */
export const ownClient = ({ url, data_dir }: Pick<LiveEngine, 'url' | 'data_dir'>): Client =>
  new Client({ url, token: readFileSync(join(data_dir, 'token'), 'utf8').trim() })

export const ADA = { name: 'ada', password: 'correct horse battery' }

const added = new Map<string, Promise<unknown>>()

/** Adds Ada, once to an engine; she may everything, unless another role is given. */
export function addAda(engine: LiveEngine, role: CreateUser['role'] = 'superuser'): Promise<unknown> {
  const { data_dir } = engine
  const adding = added.get(data_dir) ?? ownClient(engine).users.add({ ...ADA, role })
  added.set(data_dir, adding)
  return adding
}

const WAIT_MS = 120_000

export interface OpenPage {
  readonly path: string
  readonly width?: number
  readonly height?: number
  readonly theme?: 'light' | 'dark'
  /** Name and password; without, nobody signs in. */
  readonly user?: { readonly name: string; readonly password: string }
}

/** A page of the app, and everything that went wrong in it: exceptions, errors on the console, and what its policy forbids. */
export interface WebPage {
  readonly page: Page
  readonly problems: readonly string[]
}

/** In a context of its own, which ends with the test. */
export async function openWebPage(
  t: TestContext,
  engine: Pick<LiveEngine, 'url'>,
  { path, width = 1440, height = 900, theme = 'light', user }: OpenPage,
): Promise<WebPage> {
  const context = await (await launched()).newContext({ viewport: { width, height }, colorScheme: theme })
  t.after(() => context.close())
  // A machine under load takes its time: a test that hangs is ended by its runner.
  context.setDefaultTimeout(WAIT_MS)
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', error => problems.push(`exception: ${error.message}`))
  page.on('console', message => {
    if (message.type() === 'error' && !isRefusedCall(message.text())) problems.push(`console: ${message.text()}`)
  })
  await context.addInitScript(`addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sample }) =>
    console.error('policy:', effectiveDirective, blockedURI, sample))`)
  if (user !== undefined) {
    const answer = await context.request.post(`${engine.url}/login/session`, {
      data: { username: user.name, password: user.password },
      headers: { origin: engine.url },
    })
    if (!answer.ok()) throw new Error(`${user.name} cannot sign in: ${answer.status()} ${await answer.text()}`)
  }
  await page.goto(`${engine.url}${path}`)
  return { page, problems }
}

/** The browser tells every answer of 400 and more on the console, also those that the app expects. */
const isRefusedCall = (text: string): boolean => text.startsWith('Failed to load resource')

const AXE_PATH = join(ROOT, 'node_modules/axe-core/axe.min.js')

/** What axe-core finds serious or critical, as sentences. */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(AXE_PATH, 'utf8'))
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { impact: string; id: string; nodes: { html: string }[] }[] }> }
    }
    const { violations } = await axe.run()
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`)
  })
}
