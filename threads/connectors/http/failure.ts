import type { ErrorCode } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import { certificateFault } from '../certificates.ts'
import { AddressRefused } from '../reach.ts'

/** Something is wrong with what was asked or answered, and asking again is of no use. The message is a sentence without its subject, the address. */
export class WebFailure extends Error {}

/** By the code of an error of Node, as sentences without their subject. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refuses the connection',
  ECONNRESET: 'closes the connection before it has answered',
  EPIPE: 'closes the connection before it has answered',
  ENOTFOUND: 'has a name that is not known',
  EAI_AGAIN: 'has a name that cannot be looked up now',
  EHOSTUNREACH: 'cannot be reached',
  ENETUNREACH: 'cannot be reached',
  ETIMEDOUT: 'cannot be reached',
  HPE_HEADER_OVERFLOW: `answers header fields of more than ${limits.HEADER_BYTES} bytes`,
  ERR_STREAM_PREMATURE_CLOSE: 'closes the connection in the middle of its answer',
}

/** Is another try of use? Then nothing is wrong with the request or the answer, but with the way between. */
export const isTransport = (error: unknown): boolean =>
  Object.hasOwn(REASONS, codeOf(error)) && codeOf(error)[0] === 'E' && codeOf(error) !== 'ENOTFOUND'

/** As a sentence without its full stop. Of the address nothing but its origin: the rest may be a secret. */
export function reasonOf(error: unknown, origin: string, timeout_s: number): { code: ErrorCode; text: string } {
  if (error instanceof AddressRefused) return { code: 'address_refused', text: `${origin}: ${error.message}` }
  const { name, message } = error as Error
  const code = codeOf(error)
  const what =
    error instanceof WebFailure
      ? message
      : name === 'TimeoutError' || name === 'AbortError'
        ? `has not answered within ${timeout_s} s`
        : (REASONS[code] ??
          certificateFault(
            code,
            'name that of its authority in NODE_EXTRA_CA_CERTS when the engine starts',
            'the address must have the name that is in it',
          ) ??
          (code.startsWith('HPE_')
            ? `does not answer in HTTP (${code})`
            : /^(Z_|ERR_?_ERROR_FORMAT|ERR_BROTLI)/.test(code)
              ? `answers what cannot be unpacked (${code})`
              : `failed: ${message}${code === '' ? '' : ` (${code})`}`))
  return { code: 'request_failed', text: `${origin} ${what}` }
}

/** Several addresses of one name were tried: the first error stands for all. */
function codeOf(error: unknown): string {
  const { code, errors } = error as { code?: unknown; errors?: unknown[] }
  if (typeof code === 'string') return code
  return Array.isArray(errors) && errors.length > 0 ? codeOf(errors[0]) : ''
}
