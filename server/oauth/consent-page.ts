import type { Scope } from '../../protocol/words/scopes.ts'

export const CONSENT_STYLE = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 30rem; margin: 10vh auto; padding: 0 1rem; }
h1 { font-size: 1.3rem; }
label { display: block; margin: .6rem 0; }
input[type=text], input[type=password] { display: block; width: 100%; box-sizing: border-box; padding: .5rem; font: inherit; }
fieldset { border: 1px solid #8885; border-radius: .4rem; margin: 1rem 0; }
button { font: inherit; padding: .5rem 1.2rem; margin: .4rem .6rem 0 0; border-radius: .4rem; border: 1px solid #8888; }
button.yes { background: #0b63ce; border-color: #0b63ce; color: #fff; }
.wrong { color: #c22; }
code { overflow-wrap: anywhere; }
small { opacity: .75; }
`

const MEANS: Readonly<Record<Scope, string>> = {
  read: 'read flows, values, runs and events',
  publish: 'publish values into flows',
  run: 'start and cancel runs, switch flows on and off',
  edit: 'change flows and dashboards, but no code',
  code: 'write code that runs with the account of this engine',
  admin: 'manage users, secrets and clients',
}

/** Text in HTML, also within an attribute in double quotes. */
export const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)

export interface Consent {
  /** The id of the request that is decided. */
  readonly request: string
  readonly client_name: string
  /** Where the answer goes. */
  readonly goes_to: string
  readonly scopes: readonly Scope[]
  readonly user: string
  /** What was wrong with the last attempt. */
  readonly wrong: string | null
}

const page = (title: string, body: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${escaped(title)}</title>
    <link rel="stylesheet" href="/oauth/style.css">
  </head>
  <body>
${body}
  </body>
</html>
`

/** The page on which a user lets a program in. It has no script; the password is asked for every time, so no other page can decide for the user. */
export function consentPage({ request, client_name, goes_to, scopes, user, wrong }: Consent): string {
  const boxes = scopes.map(
    scope =>
      `<label><input type="checkbox" name="scope_${scope}" value="yes" checked> <b>${scope}</b>: ${MEANS[scope]}</label>`,
  )
  return page(
    'Let a program in',
    `    <h1>Let &ldquo;${escaped(client_name)}&rdquo; use this flow engine?</h1>
    <p>It gave itself this name. The answer goes to <code>${escaped(goes_to)}</code>; go on only if you have just asked for that.</p>
    ${wrong === null ? '' : `<p class="wrong" role="alert">${escaped(wrong)}</p>`}
    <form method="post" action="/oauth/authorize" autocomplete="on">
      <input type="hidden" name="request" value="${escaped(request)}">
      <fieldset>
        <legend>It may</legend>
        ${boxes.join('\n        ')}
        <small>Never more than you may yourself. A superuser can end it at any time with <code>svc clients delete</code>.</small>
      </fieldset>
      <label>Your name <input type="text" name="username" value="${escaped(user)}" autocomplete="username" required maxlength="256"></label>
      <label>Your password <input type="password" name="password" autocomplete="current-password" required maxlength="256"></label>
      <button class="yes" name="decision" value="allow">Let it in</button>
      <button name="decision" value="deny" formnovalidate>Refuse</button>
    </form>`,
  )
}

export const refusalPage = (what: string): string =>
  page(
    'This request cannot be answered',
    `    <h1>This request cannot be answered</h1>\n    <p class="wrong" role="alert">${escaped(what)}</p>\n    <p>Go back to the program, and begin anew.</p>`,
  )
