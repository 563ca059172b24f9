import { ServiceError } from '../../../protocol/errors.ts'
import type { HttpSettings } from '../../nodes/types/http.ts'
import type { ConnectorRunner } from '../connector.ts'

/** One request an execution. */
export const httpRunner: ConnectorRunner<HttpSettings> = {
  open({ settings, outputs }) {
    const { method = 'POST', url, headers = {}, query = {}, send_inputs = true, timeout_s = 30 } = settings
    const address = new URL(url)
    for (const [name, value] of Object.entries(query)) address.searchParams.append(name, String(value))
    const body_dtype = outputs.find(({ name }) => name === 'body')?.dtype
    return {
      async call({ inputs, signal }) {
        const sends = send_inputs && method !== 'GET' && method !== 'HEAD'
        const ends = AbortSignal.any([signal, AbortSignal.timeout(timeout_s * 1000)])
        const answer = await fetch(address, {
          method,
          headers: { ...(sends ? { 'content-type': 'application/json' } : {}), ...(headers as Record<string, string>) },
          body: sends ? JSON.stringify(inputs) : null,
          signal: ends,
        }).catch(error => {
          throw new ServiceError('request_failed', `${method} ${address.origin}: ${reasonOf(error)}.`)
        })
        const text = await answer.text()
        return {
          status: answer.status,
          headers: Object.fromEntries(answer.headers),
          ...(body_dtype === undefined ? {} : { body: body_dtype === 'str' ? text : JSON.parse(text) }),
        }
      },
      close() {},
    }
  },
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error && cause.message !== '' ? cause.message : message
}
