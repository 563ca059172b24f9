import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { Accounts } from '../../../server/auth/accounts.ts'
import { Clients, type NewClient } from '../../../server/auth/clients.ts'
import { StandingClients } from '../../../server/auth/standing-clients.ts'
import type { Claims } from '../../../server/auth/tokens.ts'
import { RecordsDouble } from '../../kit/records-double.ts'
import { Clock, quickPasswords } from '../../kit/served-front.ts'
import { UsersDouble } from '../../kit/users-double.ts'

async function story() {
  const clock = new Clock()
  const records = new RecordsDouble()
  const failures: unknown[] = []
  const open = (): Promise<Clients> => Clients.open({ records, now: clock.now, failed: error => failures.push(error) })
  const accounts = await Accounts.open(new UsersDouble(), quickPasswords())
  const { created_at: since } = await accounts.create('ada', 'correct horse battery', 'editor')
  const agent: NewClient = {
    name: 'agent',
    scopes: ['read', 'publish', 'admin'],
    owner: { name: 'ada', since },
    redirect_uris: [],
    expires_ms: null,
  }
  const claims = (id: string): Claims => ({ id: 'x', subject: id, binding: id, issued_ms: 0, expires_ms: 1e15 })
  const standing = (clients: Clients) => new StandingClients(clients, accounts, clock.now)
  return { clock, records, failures, open, accounts, agent, claims, standing }
}

test('a client has the scopes that it was given and that its owner has', async () => {
  const { open, agent, standing, claims } = await story()
  const clients = await open()
  const { id } = await clients.create(agent)
  const { kind, owner, scopes, actor } = standing(clients).principalOf(claims(id))
  assert.deepEqual([kind, owner, scopes], ['client', 'ada', ['read', 'publish']])
  assert.match(actor, /^client:agent:[0-9a-f]{12}$/)
})

test('its principal stays the same object while nothing about it changes', async () => {
  const { clock, open, agent, standing, claims } = await story()
  const clients = await open()
  const { id } = await clients.create(agent)
  const stands = standing(clients)
  const first = stands.principalOf(claims(id))
  clock.ms += limits.CLIENT_USE_WRITTEN_MS
  assert.equal(stands.principalOf(claims(id)), first)
})

test('clients are there again after a restart, until they are removed', async () => {
  const { open, agent } = await story()
  const before = await open()
  const { id } = await before.create(agent)
  const other = await before.create({ ...agent, name: 'other' })
  await before.remove(other.id)
  assert.deepEqual(
    (await open()).list().map(row => row.id),
    [id],
  )
  await assert.rejects(before.remove(other.id), { code: 'client_not_found' })
})

test('the time of last use is written at most once a minute, and never after the client is gone', async () => {
  const { clock, records, open, agent, standing, claims } = await story()
  const clients = await open()
  const { id } = await clients.create(agent)
  const stands = standing(clients)
  assert.equal(records.writes, 1)
  const use = async (later_ms: number): Promise<void> => {
    clock.ms += later_ms
    stands.principalOf(claims(id))
    // Behind whatever was begun.
    await clients.remove('none').catch(() => {})
  }
  await use(0)
  for (let at = 0; at < 9; at++) await use(1_000)
  assert.equal(records.writes, 2)
  await use(limits.CLIENT_USE_WRITTEN_MS)
  assert.equal(records.writes, 3)
  const expected = clock.ms
  assert.equal((await open()).find(id)?.last_used_ms, expected)
  clock.ms += limits.CLIENT_USE_WRITTEN_MS
  const removed = clients.remove(id)
  stands.principalOf(claims(id))
  await removed
  await clients.remove('none').catch(() => {})
  assert.equal((await open()).find(id), null)
  assert.throws(() => stands.principalOf(claims(id)), /was deleted/)
})

test('a full disk keeps what was there, and a time of last use that it refuses is no harm', async () => {
  const { records, failures, open, agent, standing, claims } = await story()
  const clients = await open()
  const { id } = await clients.create(agent)
  records.refuse = new RangeError('full')
  await assert.rejects(clients.create(agent), /full/)
  await assert.rejects(clients.remove(id), /full/)
  standing(clients).principalOf(claims(id))
  await clients.remove('none').catch(() => {})
  assert.equal(clients.list().length, 1)
  assert.equal(failures.length, 1)
})

test('so many clients are allowed and no more', async () => {
  const { open, agent } = await story()
  const clients = await open()
  for (let at = 0; at < limits.CLIENTS; at++) await clients.create(agent)
  await assert.rejects(clients.create(agent), { code: 'too_many_clients' })
})
