import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { launched, skip } from '../kit/chromium.ts'
import { ADA, type ServedFront, serveFront } from '../kit/served-front.ts'

let served: ServedFront
before(async () => {
  served = await serveFront()
})
after(() => served.close())

test('the docs page shows the routes, signs in and tries one, asks nobody else, and breaks no policy', {
  skip,
}, async () => {
  const page = await (await launched()).newPage()
  const complaints: string[] = []
  const strangers: string[] = []
  page.on('console', message => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()))
  page.on('pageerror', error => complaints.push(error.message))
  page.on('request', request => {
    if (!request.url().startsWith(`${served.url}/`) && !request.url().startsWith('data:')) strangers.push(request.url())
  })
  await page.goto(`${served.url}/docs`)
  await page.waitForSelector('.opblock')
  assert.equal(await page.locator('.opblock').count(), served.routes.filter(route => !route.hidden).length)

  await page.click('.btn.authorize')
  await page.fill('#oauth_username', ADA.name)
  await page.fill('#oauth_password', ADA.password)
  await page.locator('.auth-container', { hasText: 'Token URL' }).locator('button.authorize').click()
  await page.waitForSelector('.auth-container >> text=Logout')
  await page.click('.btn-done')
  await page.click('#operations-users-getOwnUser')
  await page.click('#operations-users-getOwnUser .execute')
  await page.waitForSelector('.live-responses-table .response-col_status >> text=200')

  assert.deepEqual({ complaints, strangers }, { complaints: [], strangers: [] })
  await page.close()
})

test('the page and its files can be kept by a browser, what the page shows cannot', async () => {
  const cached = async (path: string) => (await fetch(served.url + path)).headers.get('cache-control')
  assert.match((await cached('/docs/swagger-ui-bundle.js'))!, /max-age/)
  assert.equal(await cached('/openapi.json'), 'no-store')
})
