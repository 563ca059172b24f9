/**
 * Node-RED 4 without its editor, in a process of its own. It answers
 *   load({folder, flow}) -> {ready_ms, port}     starts the runtime with a flow, from a fresh user directory
 *   burst({messages, targets?}) -> {seconds}     feeds messages and waits until the node `counter` has seen them
 *   rss() -> bytes
 * Everything that it runs shares its one thread: the runtime, the function nodes and, for websockets, the server.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FlowEntry } from '../../node-red.ts'
import { answer } from '../../partner.ts'

interface RuntimeNode {
  receive(message: object): void
}
interface NodeRed {
  init(server: Server, settings: object): void
  start(): Promise<void>
  httpNode: (request: unknown, response: unknown) => void
  nodes: { getNode(id: string): RuntimeNode | null }
  events: { once(name: string, listener: () => void): void }
}

interface Bench {
  /** What the node `counter` has seen since the burst began. */
  seen: number
  wanted: number
  done: () => void
}

const bench: Bench = { seen: 0, wanted: 0, done: () => {} }
const runtime: { red: NodeRed | null } = { red: null }

answer({
  async load({ folder, flow }: { folder: string; flow: FlowEntry[] }) {
    const began_ms = performance.now()
    const red = createRequire(join(folder, 'package.json'))('node-red') as NodeRed
    const user_directory = mkdtempSync(join(tmpdir(), 'rival-node-red-'))
    process.on('exit', () => rmSync(user_directory, { recursive: true, force: true }))
    writeFileSync(join(user_directory, 'flows.json'), JSON.stringify(flow))
    const server = createServer((request, response) => red.httpNode(request, response))
    red.init(server, {
      userDir: user_directory,
      flowFile: 'flows.json',
      credentialSecret: false,
      httpAdminRoot: false,
      httpNodeRoot: '/',
      disableEditor: true,
      functionGlobalContext: { bench },
      logging: { console: { level: 'off', metrics: false, audit: false } },
      telemetry: { enabled: false },
    })
    const started = new Promise<void>(resolve => red.events.once('flows:started', resolve))
    await red.start()
    await started
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    runtime.red = red
    return { ready_ms: performance.now() - began_ms, port: (server.address() as AddressInfo).port }
  },

  /** `targets`: the nodes that the messages go to in turn, from outside; without them the node `source` is told to loop. */
  async burst({ messages, targets }: { messages: number; targets?: string[] }) {
    const red = runtime.red!
    const ended = new Promise<void>(resolve => {
      Object.assign(bench, { seen: 0, wanted: messages, done: resolve })
    })
    const began_ms = performance.now()
    if (targets === undefined) red.nodes.getNode('source')!.receive({ payload: messages })
    else {
      const nodes = targets.map(id => red.nodes.getNode(id)!)
      for (let sent = 0; sent < messages; sent++) nodes[sent % nodes.length]!.receive({ payload: sent })
    }
    await ended
    return { seconds: (performance.now() - began_ms) / 1000 }
  },

  rss: () => process.memoryUsage.rss(),
})
