/**
 * Debian's mosquitto with its own defaults, on a free port of this machine; it ends with this process.
 *   listen() -> {port}   null: it is not installed
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { answer } from '../partner.ts'

const executable = ['/usr/sbin/mosquitto', '/usr/local/sbin/mosquitto', '/usr/bin/mosquitto'].find(existsSync)

answer({
  async listen() {
    if (executable === undefined) return { port: null }
    const port = await freePort()
    const folder = mkdtempSync(join(tmpdir(), 'bench-mosquitto-'))
    const file = join(folder, 'mosquitto.conf')
    const { username } = userInfo()
    writeFileSync(file, `listener ${port} 127.0.0.1\nuser ${username}\nallow_anonymous true\nset_tcp_nodelay true\n`)
    const child = spawn(executable, ['-c', file], { stdio: 'ignore' })
    process.on('exit', () => {
      child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    })
    while (!(await answers(port))) {
      if (child.exitCode !== null) throw new RangeError(`mosquitto ended with ${child.exitCode}`)
      await sleep(10)
    }
    return { port }
  },
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}

function answers(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    const end = (is: boolean) => () => {
      socket.destroy()
      resolve(is)
    }
    socket.once('connect', end(true)).once('error', end(false))
  })
}
