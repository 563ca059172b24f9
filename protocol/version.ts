import manifest from '../package.json' with { type: 'json' }

/** The release number, as `GET /observability/summary` and `svc --version` report it. */
export const VERSION: string = manifest.version
