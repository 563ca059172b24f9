import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { connect } from 'node:net'
import { after, beforeEach, test } from 'node:test'
import { limits } from '../../protocol/limits.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, node, output, Story } from '../kit/live-story.ts'

const live = sharedEngine()
let story: Story
beforeEach(() => {
  story = new Story(live.engine)
})

const ALL = [output('body', 'json'), output('query', 'json'), output('headers', 'json')]

interface Answer {
  readonly status: number
  readonly json: unknown
  readonly headers: Headers
}

async function ask(path: string, init: RequestInit = {}): Promise<Answer> {
  const answer = await fetch(`${live.url}/hooks/${path}`, init)
  const text = await answer.text()
  return { status: answer.status, json: text === '' ? null : JSON.parse(text), headers: answer.headers }
}
const post = (path: string, body: string | Buffer, type = 'application/json', more: Record<string, string> = {}) =>
  ask(path, { method: 'POST', body, headers: { 'content-type': type, ...more } })
const codeOf = ({ json }: Answer): string => (json as { code: string }).code

test('a request is published in one cascade: body, query and header fields', async () => {
  const join = code(
    'join',
    'export default ({ body, query, headers }) => ({ seen: [body, query, headers["x-one"] ?? null] })',
    [input('body', 'json'), input('query', 'json'), input('headers', 'json')],
    [output('seen', 'json')],
  )
  await story.save('hook', flow([node('in', 'webhook', {}, [], ALL), join]))
  const { status, json } = await post('hook/in?a=1&b=x%20y&a=2', '{"n":7}', 'application/json', {
    'x-one': 'one',
    authorization: 'Basic secret',
    cookie: 'k=secret',
  })
  assert.deepEqual([status, json], [202, { accepted: true }])
  await story.becomes('hook.seen', [{ n: 7 }, { a: ['1', '2'], b: 'x y' }, 'one'])
  assert.equal(story.version('hook.seen'), 1)
  assert.doesNotMatch(JSON.stringify(story.value('hook.headers')), /secret/)
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
    const before = story.version('hook.seen')
    assert.equal((await ask('hook/in', { method })).status, 202, method)
    await story.reaches('hook.seen', before + 1)
  }
  const head = await fetch(`${live.url}/hooks/hook/in`, { method: 'HEAD' })
  const allowed = 'DELETE, GET, OPTIONS, PATCH, POST, PUT'
  assert.deepEqual([head.status, head.headers.get('allow')], [405, allowed])
  const options = await fetch(`${live.url}/hooks/hook/in`, { method: 'OPTIONS' })
  assert.deepEqual([options.status, options.headers.get('allow')], [204, allowed])
  assert.equal(story.node('hook', 'in').executions, 5)
})

test('forms, texts and bytes are read by what they are and by what the port wants', async () => {
  const bodies = ['json', 'str', 'artifact'] as const
  for (const dtype of bodies)
    await story.save(`of_${dtype}`, flow([node('in', 'webhook', {}, [], [output('body', dtype)])]))
  await post('of_json/in', 'a=1&b=x+y', 'application/x-www-form-urlencoded')
  await story.becomes('of_json.body', { a: '1', b: 'x y' })
  await post('of_json/in', 'plain', 'text/plain; charset=utf-8')
  await story.becomes('of_json.body', 'plain')
  await post('of_json/in', '{"type":"x"}', 'application/cloudevents+json')
  await story.becomes('of_json.body', { type: 'x' })
  await post('of_str/in', '{not json', 'application/json')
  await story.becomes('of_str.body', '{not json')
  const bytes = Buffer.alloc(3 * 1024 * 1024, 'x')
  assert.equal((await post('of_artifact/in', bytes, 'image/png')).status, 202)
  const reference = { media_type: 'image/png', size: bytes.length }
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
  assert.deepEqual(story.value('of_artifact.body'), { digest, ...reference })
  const refusals: [string, string | Buffer, string, number, string][] = [
    ['of_json/in', '{', 'application/json', 422, 'malformed_json'],
    ['of_json/in', '['.repeat(100), 'application/json', 422, 'too_deep'],
    ['of_json/in', Buffer.from([0xff]), 'text/plain', 422, 'validation'],
    ['of_json/in', 'x', 'image/png', 415, 'unsupported_media_type'],
    ['of_json/in', 'x'.repeat(limits.BODY_BYTES + 1), 'text/plain', 413, 'too_large'],
    ['of_json/in', 'x'.repeat(limits.HOOK_FORM_BYTES + 1), 'application/x-www-form-urlencoded', 413, 'too_large'],
    ['of_artifact/in', Buffer.alloc(limits.HOOK_BODY_BYTES + 1), 'image/png', 413, 'too_large'],
  ]
  const versions = bodies.map(dtype => story.version(`of_${dtype}.body`))
  for (const [path, body, type, status, refused] of refusals) {
    const answer = await post(path, body, type)
    assert.deepEqual([answer.status, codeOf(answer)], [status, refused], refused)
  }
  assert.deepEqual(
    bodies.map(dtype => story.version(`of_${dtype}.body`)),
    versions,
  )
})

test('what is not there, disabled or no webhook answers the same', async () => {
  await story.save('off', flow([node('in', 'webhook', {}, [], [output('query', 'json')])]))
  await live.engine.flows.setEnabled('off', false, 'tests')
  const pass = code('pass', 'export default () => ({})', [input('x', 'int')], [])
  await story.save('plain', flow([pass], { message: 'x', dtype: 'int' }))
  const answers = await Promise.all(['off/in', 'none/in', 'plain/pass', 'plain/none'].map(path => ask(path)))
  const bodies = answers.map(({ json }) => ({ ...(json as object), instance: null }))
  assert.deepEqual(bodies, Array(4).fill(bodies[0]))
  assert.deepEqual([answers[0]!.status, codeOf(answers[0]!)], [404, 'hook_not_found'])
})

test('only requests with the right HMAC or token come in', async () => {
  const secret = 'k'.repeat(32)
  const hmac = { header: 'X-Hub-Signature-256', secret }
  await story.save('signed', flow([node('in', 'webhook', { hmac }, [], ALL)]))
  const token = { header: 'X-Token', secret }
  await story.save('token', flow([node('in', 'webhook', { token }, [], ALL)]))
  const body = '{"a":1}'
  const digest = createHmac('sha256', secret).update(body).digest()
  const [hex, base64] = [digest.toString('hex'), digest.toString('base64')]
  const signed = (value: string) => post('signed/in', body, 'application/json', { 'x-hub-signature-256': value })
  for (const good of [`sha256=${hex}`, hex, hex.toUpperCase(), base64])
    assert.equal((await signed(good)).status, 202, good)
  const other = createHmac('sha256', 'other').update(body).digest('hex')
  for (const bad of [
    '',
    'sha256=',
    `sha256=${other}`,
    `sha1=${hex}`,
    hex.slice(1),
    `${hex}0`,
    'ü'.normalize().slice(1),
  ]) {
    const answer = await signed(bad)
    assert.deepEqual([answer.status, codeOf(answer)], [403, 'hook_refused'], bad)
  }
  assert.equal((await post('signed/in', `${body} `, 'application/json', { 'x-hub-signature-256': hex })).status, 403)
  assert.equal((await post('signed/in', body)).status, 403)
  assert.equal((await ask('token/in', { headers: { 'x-token': secret } })).status, 202)
  for (const bad of [{}, { 'x-token': secret.slice(1) }, { authorization: `Bearer ${secret}` }])
    assert.equal((await ask('token/in', { headers: bad as Record<string, string> })).status, 403)
  assert.equal(story.version('signed.body'), 4)
  assert.doesNotMatch(JSON.stringify([story.value('signed.headers'), story.value('token.headers')]), /kkkk|signature/)
})

const doubling = code(
  'double',
  'export default ({ body }) => (body === null ? {} : { out: body * 2 })',
  [input('body', 'json')],
  [output('out', 'json')],
)

test('with an answer, each of many requests at once gets its own', async () => {
  const hook = node('in', 'webhook', { answer: 'out' }, [], [output('body', 'json')])
  await story.save('asks', flow([hook, doubling]))
  const numbers = Array.from({ length: 40 }, (_, at) => at)
  const answers = await Promise.all(numbers.map(number => post('asks/in', String(number))))
  assert.deepEqual(
    answers.map(({ status, json }) => [status, json]),
    numbers.map(number => [200, number * 2]),
  )
})

test('an answer that nothing produces is an issue of the node', async () => {
  const hook = (answer: string) => node('in', 'webhook', { answer }, [], [output('body', 'json')])
  const texts = (): string[] => live.engine.flows.get('mute').issues.map(({ message }) => message)
  await story.save('mute', flow([hook('nothing')]))
  assert.deepEqual(texts(), ['Node "in" answers with "nothing", which nothing in this flow produces.'])
  await story.save('mute', flow([hook('nowhere.reply')]))
  assert.deepEqual(texts(), ['Node "in" answers with "nowhere.reply", but there is no flow "nowhere".'])
  await story.save('mute', flow([hook('reply')], { message: 'reply', dtype: 'json' }))
  assert.deepEqual(texts(), [])
})

test('who asks a webhook whose answer is not there learns no name of a message', async () => {
  await story.save('tank', flow([doubling], { message: 'pressure', dtype: 'float' }))
  await story.save('typo', flow([node('in', 'webhook', { answer: 'tank.presure' }, [], [output('body', 'json')])]))
  const answer = await post('typo/in', '1')
  assert.deepEqual([answer.status, codeOf(answer)], [404, 'message_not_found'])
  assert.doesNotMatch(JSON.stringify(answer.json), /tank|pres+ure/)
})

test('a request that the flow does not answer gets 504, and those behind it 504 without being published', async () => {
  const hook = node('in', 'webhook', { answer: 'out', timeout_s: 0.3 }, [], [output('body', 'json')])
  await story.save('mute', flow([hook, doubling]))
  const answers = await Promise.all([post('mute/in', 'null'), post('mute/in', 'null')])
  assert.deepEqual(
    answers.map(answer => [answer.status, codeOf(answer)]),
    Array(2).fill([504, 'hook_timeout']),
  )
  assert.ok(story.version('mute.body') >= 1)
  assert.deepEqual((await post('mute/in', '4')).json, 8)
  const wrong = node('in', 'webhook', { answer: 'nothing' }, [], [output('body', 'json')])
  await story.save('mute', flow([wrong]))
  assert.equal(codeOf(await post('mute/in', '4')), 'message_not_found')
})

for (const [where, answer] of [
  ['of its flow', 'out'],
  ['that comes by way of another flow', 'lateslow.out'],
] as const)
  test(`an answer ${where} after its request got 504 is nobody's: the next request gets its own`, async () => {
    const gate = new Gate(live.data_dir, `late-${answer}`)
    const inside = answer === 'out'
    const slow = code(
      'slow',
      `${gate.source}export default async ({ body }) => { await opened(); return { out: body } }`,
      [input('body', 'json', { message: inside ? 'body' : 'late.body' })],
      [output('out', 'json')],
    )
    const hook = (timeout_s: number) => node('in', 'webhook', { answer, timeout_s }, [], [output('body', 'json')])
    const save = (timeout_s: number) => story.save('late', flow(inside ? [hook(timeout_s), slow] : [hook(timeout_s)]))
    await save(0.2)
    if (!inside) await story.save('lateslow', flow([slow]))
    const late = await post('late/in', '"late"')
    assert.deepEqual([late.status, codeOf(late)], [504, 'hook_timeout'])
    await save(60)
    const next = post('late/in', '"own"')
    await story.becomes('late.body', 'own')
    gate.open()
    assert.equal((await next).json, 'own')
  })

test('a request whose webhook went away while it stood in line is told what everybody is told then', async () => {
  const pass = code('pass', 'export default () => ({})', [input('reply', 'int')], [])
  await story.save('replies', flow([pass], { message: 'reply', dtype: 'int' }))
  const hook = node('in', 'webhook', { answer: 'replies.reply', timeout_s: 60 }, [], [output('body', 'json')])
  const ways: [name: string, leave: (name: string) => Promise<unknown>][] = [
    ['switched_off', name => live.engine.flows.setEnabled(name, false, 'tests')],
    ['taken_away', name => live.engine.flows.remove(name, 'tests')],
  ]
  for (const [name, leave] of ways) {
    await story.save(name, flow([hook]))
    const first = post(`${name}/in`, '1')
    await story.becomes(`${name}.body`, 1)
    const second = post(`${name}/in`, '2')
    // One connection: it is in line when this is answered.
    for (let at = 0; at < 3; at++) await ask('none/in')
    await leave(name)
    story.publish('replies.reply', 7)
    assert.deepEqual([(await first).status, (await first).json], [200, 7], name)
    assert.deepEqual([(await second).status, codeOf(await second)], [404, 'hook_not_found'], name)
  }
})

test('a request whose answer is deleted while it waits does not wait to the end of its time', async () => {
  const hook = node('in', 'webhook', { answer: 'out', timeout_s: 300 }, [], [output('body', 'json')])
  await story.save('deleted', flow([hook, doubling]))
  let answer: Answer | null = null
  const waiting = post('deleted/in', 'null').then(given => (answer = given))
  await eventually(() => story.version('deleted.body') === 1, 'it is published')
  await live.engine.flows.remove('deleted', 'tests')
  await eventually(() => answer !== null, 'it is answered')
  assert.equal(codeOf(await waiting), 'message_not_found')
  await story.save('named', flow([hook, doubling]))
  const named = post('named/in', 'null')
  await eventually(() => story.version('named.body') === 1, 'it is published')
  await live.engine.flows.rename('named', 'renamed', 'tests')
  story.publish('renamed.out', 9)
  assert.deepEqual((await named).json, 9)
})

test('a flood is refused with a time to wait: at the places of a node, and at the bound of its flow', async () => {
  const waits = node('in', 'webhook', { answer: 'out', timeout_s: 5 }, [], [output('body', 'json')])
  const gate = new Gate(live.data_dir, 'flood')
  const slow = code(
    'slow',
    `${gate.source}export default async ({ body }) => { await opened(); return { out: body } }`,
    [input('body', 'json')],
    [output('out', 'json')],
  )
  await story.save('flood', flow([waits, slow]))
  const asked = Array.from({ length: limits.HOOK_PLACES + 20 }, () => post('flood/in', '1'))
  const first = await Promise.race(asked)
  assert.deepEqual([first.status, codeOf(first), first.headers.get('retry-after')], [503, 'hook_busy', '1'])
  gate.open()
  const statuses = (await Promise.all(asked)).map(({ status }) => status)
  assert.deepEqual(
    [statuses.filter(status => status === 503).length, statuses.filter(status => status === 200).length],
    [20, 64],
  )

  const full = new Gate(live.data_dir, 'full')
  const holds = code('holds', `${full.source}export default async ({ body }) => { await opened(); return {} }`, [
    input('body', 'json'),
  ])
  await story.save('full', flow([node('in', 'webhook', {}, [], [output('body', 'json')]), holds]))
  const list = Array.from({ length: limits.PUBLISH_LIST_ITEMS }, () => ({ name: 'full.body', value: 1 }))
  assert.throws(() => {
    for (;;) live.engine.messages.publish(list)
  }, /backlogged|is full/)
  let refused: Answer
  do refused = await post('full/in', '1')
  while (refused.status === 202)
  assert.deepEqual([refused.status, codeOf(refused), refused.headers.get('retry-after')], [503, 'backlogged', '1'])
  const other = await ask('hook/in')
  assert.equal(other.status, 202)
  full.open()
  await eventually(async () => (await post('full/in', '1')).status === 202, 'the flow takes requests again')
})

test('clients that leave give their places back, and what they sent and was not published yet is not published', async () => {
  const gate = new Gate(live.data_dir, 'left')
  const slow = code(
    'slow',
    `${gate.source}export default async ({ body }) => { await opened(); return { reply: body } }`,
    [input('body', 'json')],
    [output('reply', 'json')],
  )
  const hook = node('in', 'webhook', { answer: 'reply', timeout_s: 60 }, [], [output('body', 'json')])
  await story.save('left', flow([hook, slow]))
  const leaving = new AbortController()
  const asked = Array.from({ length: limits.HOOK_PLACES + 1 }, (_, n) =>
    ask('left/in', { method: 'POST', body: String(n), signal: leaving.signal }).catch(() => null),
  )
  // All places are taken.
  assert.equal((await Promise.race(asked))?.status, 503)
  leaving.abort()
  await Promise.all(asked)
  const patiently = async (body: string): Promise<Answer> => {
    for (;;) {
      const answer = await post('left/in', body)
      if (answer.status !== 503) return answer
    }
  }
  const stays = patiently('"stays"')
  const also = patiently('"also"')
  gate.open()
  // The one that was published is answered first, to nobody.
  assert.deepEqual([(await stays).json, (await also).json].toSorted(), ['also', 'stays'])
  assert.ok(story.version('left.body') < limits.HOOK_PLACES, `${story.version('left.body')} were published`)
})

test('clients that never end their requests do not keep others out', async () => {
  const { port } = new URL(live.url)
  const slow = Array.from({ length: 200 }, () => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    socket.write(`POST /hooks/hook/in HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 1000\r\n\r\n{`)
    return socket
  })
  after(() => slow.map(socket => socket.destroy()))
  assert.equal((await post('hook/in', '1')).status, 202)
  assert.equal((await fetch(`${live.url}/utils/health/`)).status, 200)
})

test('a page of another origin and a request to another host are refused, as everywhere', async () => {
  const page = await ask('hook/in', { headers: { origin: 'http://elsewhere.test' } })
  assert.equal(codeOf(page), 'origin_refused')
})
