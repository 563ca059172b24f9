import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/**
 * The page at `/docs`: Swagger UI out of `node_modules`, so that it works without any network. The content policy of pages
 * forbids inline scripts, so the script that starts it is a file of its own.
 */
export const DOCS_HTML = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Flow engine: HTTP interface</title>
    <link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
    <link rel="stylesheet" href="/docs/swagger-ui.css">
  </head>
  <body>
    <noscript>This page needs scripts; <a href="/openapi.json">the description itself</a> does not.</noscript>
    <div id="docs"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`

const START = `'use strict'
SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  tryItOutEnabled: true,
  validatorUrl: null,
})
`

export interface DocsFile {
  readonly name: string
  readonly type: string
}

export const DOCS_FILES: readonly DocsFile[] = [
  { name: 'swagger-ui.css', type: 'text/css; charset=utf-8' },
  { name: 'swagger-ui-bundle.js', type: 'text/javascript; charset=utf-8' },
  { name: 'favicon-32x32.png', type: 'image/png' },
]
export const START_FILE: DocsFile & { readonly text: string } = {
  name: 'start.js',
  type: 'text/javascript; charset=utf-8',
  text: START,
}

/** Reads the package's files when they are first asked for, and keeps them: about 1.6 MB. */
export class DocsFiles {
  readonly #read = new Map<string, Promise<Buffer>>()

  /** `name` is one of `DOCS_FILES`, never anything that came from outside. */
  read(name: string): Promise<Buffer> {
    let bytes = this.#read.get(name)
    if (bytes === undefined) {
      const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
      bytes = readFile(join(folder, name))
      this.#read.set(name, bytes)
      bytes.catch(() => this.#read.delete(name))
    }
    return bytes
  }
}
