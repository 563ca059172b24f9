import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { liveEngine } from '../kit/live-engine.ts'
import { called } from '../kit/mcp-client.ts'
import { boiler } from '../kit/served-front.ts'

const PASSWORD = 'correct horse battery'

for (const era of ['2025', '2026'] as const) {
  test(`an official client of ${era} finds the way in by itself, saves a flow, runs it and reads the result`, async t => {
    const live = await liveEngine(t)
    const admin = readFileSync(join(live.data_dir, 'token'), 'utf8')
    await fetch(`${live.url}/users`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'ada', password: PASSWORD }),
    })
    const kept: { client?: unknown; tokens?: { access_token: string }; verifier?: string; discovery?: unknown } = {}
    let asked: URL | null = null
    const authProvider = {
      redirectUrl: 'http://127.0.0.1:3999/callback',
      clientMetadata: {
        client_name: 'an official client',
        redirect_uris: ['http://127.0.0.1:3999/callback'],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        scope: 'read run edit code',
      },
      state: () => 'st',
      clientInformation: () => kept.client,
      saveClientInformation: (client: unknown) => void (kept.client = client),
      tokens: () => kept.tokens,
      saveTokens: (tokens: { access_token: string }) => void (kept.tokens = tokens),
      redirectToAuthorization: (url: URL) => void (asked = url),
      saveCodeVerifier: (verifier: string) => void (kept.verifier = verifier),
      codeVerifier: () => kept.verifier,
      saveDiscoveryState: (state: unknown) => void (kept.discovery = state),
      discoveryState: () => kept.discovery,
    } as unknown as OAuthClientProvider
    const transport = () => new StreamableHTTPClientTransport(new URL('/mcp', live.url), { authProvider })
    const options = era === '2026' ? { versionNegotiation: { mode: 'auto' as const } } : {}
    const first = transport()
    await assert.rejects(new Client({ name: 'test', version: '1' }, options).connect(first), UnauthorizedError)
    assert.equal(asked!.searchParams.get('resource'), `${live.url}/mcp`)

    const html = await (await fetch(asked!)).text()
    const request = /name="request" value="([^"]+)"/.exec(html)![1]!
    const scopes = [...html.matchAll(/name="(scope_[a-z]+)"/g)].map(([, name]) => [name!, 'yes'])
    const form = new URLSearchParams([
      ['request', request],
      ['decision', 'allow'],
      ['username', 'ada'],
      ['password', PASSWORD],
      ...scopes,
    ] as [string, string][])
    const back = await fetch(`${live.url}/oauth/authorize`, { method: 'POST', redirect: 'manual', body: form })
    await first.finishAuth(new URL(back.headers.get('location')!).searchParams)

    const client = new Client({ name: 'test', version: '1' }, options)
    await client.connect(transport())
    t.after(() => client.close())
    const { tools } = await client.listTools()
    assert.ok(
      tools.some(tool => tool.name === 'save_flow'),
      tools.map(({ name }) => name).join(' '),
    )
    const saved = await called(client, 'save_flow', { name: 'boiler', document: boiler, base_version: 0 })
    assert.equal(saved.refused, null, saved.text)
    // The access token dies; the client refreshes by itself.
    kept.tokens = { ...kept.tokens!, access_token: 'dead' }
    const started = await called(client, 'start_run', { flow: 'boiler', inputs: { raw: 4 } })
    assert.equal(started.refused, null, started.text)
    assert.notEqual(kept.tokens.access_token, 'dead')
    const { value, text } = await called(client, 'follow_run', { run: started.value.run.id, wait_s: 20 })
    assert.equal(value.status, 'succeeded', text)
    const read = await called(client, 'read_run', { run: started.value.run.id })
    assert.deepEqual(Object.values(read.value.result), [4])
  })
}
