/**
 * From the command to the first answered request with 1,000 flows stored, and the memory that is resident when it then idles. A flow
 * has one node. Lower is better. Each contestant runs alone; the bench polls it every 2 ms from the other core.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startOurs } from './engine.ts'
import { type Bench, compare, type Figures, type Row, RUNS, rivalFolder } from './kit.ts'
import { functionNode, tab } from './node-red.ts'
import { ServedProcess } from './served-process.ts'

const FLOWS = 1_000
const SVC = join(import.meta.dirname, '..', 'svc')
const IDLE_MS = 2_000
const UNITS = { 'first answer': 'ms', 'idle memory': 'MB' }

const bench: Bench = {
  name: 'start',
  shows: `svc serve to the first answered request with ${FLOWS} flows stored, and idle memory`,
  floor: 'node with uWebSockets.js that answers one path',
  rival: `Node-RED 4 headless with ${FLOWS} flows`,
  async run(): Promise<Row[]> {
    const rival = await rivalFolder('node-red')
    const folder = mkdtempSync(join(tmpdir(), 'bench-start-'))
    try {
      const data_dir = join(folder, 'installation')
      const { partner } = await startOurs(1, data_dir)
      await partner.ask('saveMany', { flows: FLOWS })
      await partner.ask('close')
      await partner.stop()
      writeFileSync(join(folder, 'flows.json'), JSON.stringify(nodeRedFlows()))
      return await compare({
        unit: UNITS,
        runs: RUNS,
        floor: () => measure(new ServedProcess(process.execPath, [partnerFile], { cwd: folder }), '/'),
        ours: () =>
          measure(
            new ServedProcess(SVC, ['serve', '--plain', '--port', '0', '--data-dir', data_dir], { cwd: folder }),
            '/utils/health/',
          ),
        rival: () => startNodeRed(rival, folder),
      })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}
export default bench

const partnerFile = join(import.meta.dirname, 'partners', 'floors/first-answer.ts')

async function measure(served: ServedProcess, path: string, url?: string): Promise<Figures> {
  try {
    const { ms } = await served.firstAnswer(path, url)
    await sleep(IDLE_MS)
    return { 'first answer': ms, 'idle memory': served.residentBytes() / 1e6 }
  } finally {
    await served.stop()
  }
}

/** Node-RED answers 404 until its flows run: `/ping` is a node of one of them. */
async function startNodeRed(rival: string, folder: string): Promise<Figures> {
  const port = await freePort()
  const settings = join(folder, 'settings.cjs')
  writeFileSync(
    settings,
    `module.exports = ${JSON.stringify({
      uiPort: port,
      uiHost: '127.0.0.1',
      flowFile: 'flows.json',
      credentialSecret: false,
      httpAdminRoot: false,
      disableEditor: true,
      telemetry: { enabled: false },
    })}`,
  )
  const words = [join(rival, 'node_modules', 'node-red', 'red.js'), '--userDir', folder, '--settings', settings]
  return measure(new ServedProcess(process.execPath, words, { cwd: folder }), '/ping', `http://127.0.0.1:${port}`)
}

function nodeRedFlows() {
  const flows = Array.from({ length: FLOWS }, (_, flow) => [
    tab(`tab${flow}`),
    functionNode(`body${flow}`, 'msg.payload = msg.payload + 1; return msg;', [], `tab${flow}`),
  ]).flat()
  const ping = { id: 'ping', type: 'http in', z: 'tab0', url: '/ping', method: 'get', x: 0, y: 0, wires: [['pong']] }
  return [...flows, ping, { id: 'pong', type: 'http response', z: 'tab0', x: 0, y: 0, wires: [] }]
}

function freePort(): Promise<number> {
  const server = createServer()
  return new Promise(resolve => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
