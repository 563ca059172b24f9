import Type from 'typebox'
import { DOCS_FILES, DOCS_HTML, DocsFiles, START_FILE } from '../http/docs-page.ts'
import { openapiOf } from '../http/openapi/describe.ts'
import { type Route, route } from '../http/route.ts'

const tag = 'docs'
const PAGE = 'text/html; charset=utf-8'
const DAY = { 'cache-control': 'public, max-age=86400' }

/** `all` gives every route, these included; it is asked once, when the description is first wanted. */
export function openapiRoutes(all: () => readonly Route[]): Route[] {
  const files = new DocsFiles()
  let text: string | null = null
  return [
    route({
      method: 'GET',
      path: '/openapi.json',
      scope: 'open',
      tag,
      summary: 'Returns this description.',
      answers: { 200: Type.Object({ openapi: Type.String() }, { additionalProperties: true }) },
      handle: () => {
        text ??= JSON.stringify(openapiOf(all()))
        return { status: 200, content: { type: 'application/json', bytes: text } }
      },
    }),
    route({
      method: 'GET',
      path: '/docs',
      scope: 'open',
      tag,
      summary: 'Returns the documentation page.',
      answers: { 200: { media: PAGE } },
      handle: () => ({ status: 200, content: { type: PAGE, bytes: DOCS_HTML, page: true } }),
    }),
    route({
      method: 'GET',
      path: `/docs/${START_FILE.name}`,
      scope: 'open',
      tag,
      summary: 'Returns a file of the documentation page.',
      hidden: true,
      answers: { 200: { media: START_FILE.type } },
      handle: () => ({ status: 200, content: { type: START_FILE.type, bytes: START_FILE.text }, headers: DAY }),
    }),
    ...DOCS_FILES.map(({ name, type }) =>
      route({
        method: 'GET',
        path: `/docs/${name}`,
        scope: 'open',
        tag,
        summary: 'Returns a file of the documentation page.',
        hidden: true,
        answers: { 200: { media: type } },
        handle: async () => ({ status: 200, content: { type, bytes: await files.read(name) }, headers: DAY }),
      }),
    ),
  ]
}
