/** The engine is a process of its own here: which authorities it trusts is decided when it starts. */
import assert from 'node:assert/strict'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { Authority, skipCertificates } from '../kit/certificates.ts'
import { flow, input, node, output } from '../kit/live-story.ts'
import { RealEngine } from '../kit/real-engine.ts'

test('an https address is reached when its authority is trusted, and its certificate has its name; else the node says why not', {
  skip: skipCertificates,
}, async t => {
  const authority = new Authority(t)
  const { cert, key } = authority.sign('server', 'IP:127.0.0.1')
  const server = createServer({ cert, key }, (_request, response) => response.end('{"well":true}'))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const send = (host: string) =>
    node('send', 'http', { url: `https://${host}:${port}/`, method: 'GET' }, [input('x', 'int')], [output('body')])
  const document = (host: string) => flow([send(host)], { message: 'x', dtype: 'int' })

  const trusting = await RealEngine.start(t, { environment: { NODE_EXTRA_CA_CERTS: authority.certificate.cert_path } })
  await trusting.save('secure', document('127.0.0.1'))
  await trusting.publish('secure.x', 1)
  await trusting.value('secure.body', { well: true })
  await trusting.save('misnamed', document('localhost'))
  await trusting.publish('misnamed.x', 1)
  assert.match((await trusting.error('misnamed.send')).message, /has a certificate for another name/)

  const wary = await RealEngine.start(t)
  await wary.save('secure', document('127.0.0.1'))
  await wary.publish('secure.x', 1)
  const { code, message } = await wary.error('secure.send')
  assert.equal(code, 'request_failed')
  assert.match(message, /has a certificate that is not trusted; name that of its authority in NODE_EXTRA_CA_CERTS/)
})
