import Type from 'typebox'
import { ServiceError } from '../../protocol/errors.ts'
import { type Answer, existing, type Route, route } from '../http/route.ts'
import { WebApp } from './web-app.ts'

const tag = 'web'
const PAGE = 'text/html; charset=utf-8'
const YEAR = 'public, max-age=31536000, immutable'
const REVALIDATE = 'no-cache'
const NOT_BUILT = 'The web app is not built: run "npm run build" in the folder of the engine, then start it again.'

/** The web app below `/app/` and the page of wall panels. Everything of them may be read by anybody: what they show comes from other routes. */
export function webRoutes(app: WebApp = new WebApp()): Route[] {
  const answer = async (path: string, accepted: string): Promise<Answer> => {
    if (!app.has(path)) throw new ServiceError('not_found', NOT_BUILT)
    const { type, bytes, encoding, is_immutable } = await app.file(path, accepted)
    return {
      status: 200,
      content: { type, bytes, ...(type === PAGE ? { page: 'app' } : {}) },
      headers: {
        'cache-control': is_immutable ? YEAR : REVALIDATE,
        vary: 'accept-encoding',
        ...(encoding === null ? {} : { 'content-encoding': encoding }),
      },
    }
  }
  const page = (path: string, file: string, summary: string): Route =>
    route({
      ...{ method: 'GET', path, scope: 'open', tag, summary, hidden: true, headers: ['accept-encoding'] },
      any_query: true,
      answers: { 200: { media: PAGE } },
      refuses: ['not_found'],
      handle: ({ headers }) => answer(file, headers['accept-encoding'] ?? ''),
    })
  return [
    route({
      ...{ method: 'GET', path: '/', scope: 'open', tag, hidden: true },
      summary: 'Redirects to the web app, or to the documentation page where there is none.',
      answers: { 302: null },
      handle: () => ({ status: 302, headers: { location: app.isBuilt ? '/app/' : '/docs' } }),
    }),
    route({
      ...{ method: 'GET', path: '/app', scope: 'open', tag, hidden: true },
      summary: 'Redirects to the web app.',
      answers: { 302: null },
      handle: () => ({ status: 302, headers: { location: '/app/' } }),
    }),
    page('/panel', 'panel.html', 'Returns the page of a wall panel.'),
    route({
      ...{ method: 'GET', path: '/app/{path*}', scope: 'open', tag, hidden: true, object: 'any' },
      summary: 'Returns a file of the web app; what is no file is an address within the app and gets its page.',
      any_query: true,
      params: { path: existing(Type.String({ maxLength: 2048 }), 'not_found') },
      headers: ['accept-encoding'],
      answers: { 200: { media: '*/*' } },
      refuses: ['not_found'],
      handle: ({ params: { path }, headers }) => {
        if (path.startsWith('assets/') && !app.has(path))
          throw new ServiceError('not_found', 'The web app has no such file; reload the page.')
        return answer(app.has(path) ? path : 'index.html', headers['accept-encoding'] ?? '')
      },
    }),
  ]
}
