import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { ServiceError } from '../../protocol/errors.ts'
import { WAL_FILE } from '../../protocol/installation.ts'
import type { RunningEngine, StartOptions } from '../../server/running-engine.ts'

/**
 * An engine that answers requests and does nothing else, for tests of what stands around it. `GET /crash` ends the process as
 * a crash would, `GET /throw` throws where nobody catches it, `GET /log?bytes=` writes into its log.
 */
export async function startFake({ config, installation, log }: StartOptions): Promise<RunningEngine> {
  if (installation.isNew) await installation.makeAdmin(async () => {})
  // As an open database does: a start after a kill asks for it.
  const wal = join(installation.data_dir, WAL_FILE)
  writeFileSync(wal, '')
  const server = createServer((request, answer) => {
    const url = new URL(request.url!, 'http://engine')
    if (url.pathname === '/crash') process.kill(process.pid, 'SIGKILL')
    if (url.pathname === '/print') console.log('printed by a body')
    if (url.pathname === '/log') log.info('filler', { text: 'x'.repeat(Number(url.searchParams.get('bytes'))) })
    answer.end(JSON.stringify({ pid: process.pid, config }))
    if (url.pathname === '/throw') queueMicrotask(() => JSON.parse('{'))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', () => reject(new ServiceError('address_in_use', `Port ${config.port} is taken.`)))
    server.listen(config.port, config.host, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    engine: { flows: { list: () => ({ items: [], count: 0 }), create: async () => {} } } as never,
    onTokenEnded: () => {},
    begin: () => {},
    mintToken: async () => ({ token: 'eyJ.fake.token', lifetime_s: 3_600 }),
    close: async () => {
      if (process.env['FAKE_CLOSE'] === 'never') {
        process.stderr.write('the fake does not close\n')
        await new Promise(() => {})
      }
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
      rmSync(wal, { force: true })
    },
  }
}
