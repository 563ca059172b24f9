/** The release number, as `GET /observability/summary` and `svc --version` report it. A test holds it to package.json. */
export const VERSION = '0.1.5'
