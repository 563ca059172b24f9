import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'
import { test } from 'node:test'
import { liveEngine } from '../kit/live-engine.ts'

let isLoaded = false
registerHooks({
  load: (url, context, next) => {
    isLoaded ||= url.includes('/node_modules/nodemailer/')
    return next(url, context)
  },
})

/** Loaded with the first mail it would hold the front while others are served. */
test('an engine with a mail server has what sends mails before it serves, and one without does not load it', async t => {
  await liveEngine(t)
  assert.equal(isLoaded, false)
  const PUBLIC_URL = 'https://engine.example'
  await liveEngine(t, { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'engine@example.org', PUBLIC_URL })
  assert.equal(isLoaded, true)
})
