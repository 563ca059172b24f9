import { type ErrorCode, type Problem, ServiceError } from '../../protocol/errors.ts'

export const PROBLEM_TYPE = 'application/problem+json'

/** The reason phrases of the statuses that we send. */
const REASONS: Readonly<Record<number, string>> = {
  200: '200 OK',
  201: '201 Created',
  202: '202 Accepted',
  204: '204 No Content',
  206: '206 Partial Content',
  302: '302 Found',
  304: '304 Not Modified',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  409: '409 Conflict',
  413: '413 Content Too Large',
  414: '414 URI Too Long',
  415: '415 Unsupported Media Type',
  416: '416 Range Not Satisfiable',
  421: '421 Misdirected Request',
  422: '422 Unprocessable Content',
  426: '426 Upgrade Required',
  429: '429 Too Many Requests',
  431: '431 Request Header Fields Too Large',
  500: '500 Internal Server Error',
  502: '502 Bad Gateway',
  503: '503 Service Unavailable',
  504: '504 Gateway Timeout',
  507: '507 Insufficient Storage',
}
export const statusLine = (status: number): string => REASONS[status] ?? `${status} Status`

/** A refusal as it is sent: the problem, and the headers that belong to its status. */
export interface Refusal {
  readonly status: number
  readonly problem: Problem
  readonly headers: Record<string, string>
}

/** Any thrown value as a refusal. Everything but a `ServiceError` is a defect of the engine: it is logged, and the client gets no details. */
export function refusalOf(thrown: unknown, path: string): Refusal {
  const error = thrown instanceof ServiceError ? thrown : new ServiceError('internal')
  const problem: Problem = { ...error.toJSON(), instance: path }
  return { status: error.status, problem, headers: headersOf(error.code, error.status, error.retry_after_s) }
}

function headersOf(code: ErrorCode, status: number, retry_after_s: number | null): Record<string, string> {
  if (status === 401) {
    const scheme = code === 'token_expired' ? 'Bearer error="invalid_token"' : 'Bearer'
    return { 'www-authenticate': scheme }
  }
  if (status === 429 || status === 503) return { 'retry-after': String(Math.max(1, Math.ceil(retry_after_s ?? 1))) }
  if (status === 426) return { upgrade: 'websocket' }
  return {}
}
