import type { HttpPollSettings } from '../../nodes/types/http-poll.ts'
import type { ConnectorRunner } from '../connector.ts'

/** Polls at an interval. It remembers only what it has published, so a value that it could not publish comes again with the next poll. */
export const httpPollRunner: ConnectorRunner<HttpPollSettings> = {
  open({ settings }, host) {
    const { url, every_s, pointer = '' } = settings
    const closed = new AbortController()
    let published: string | null = null
    const poll = async (): Promise<void> => {
      try {
        const answer = await fetch(url, { signal: closed.signal })
        if (!answer.ok) return host.down(`${url} answers ${answer.status}`)
        const body = at(await answer.json(), pointer)
        const text = JSON.stringify(body)
        if (text !== published) {
          if (host.publish({ body }) !== 'published') return
          published = text
        }
        host.ok()
      } catch (error) {
        if (!closed.signal.aborted) host.down(`${url}: ${String(error)}`)
      }
    }
    const go = (): void => {
      poll().catch(error => host.down(String(error)))
    }
    go()
    const timer = setInterval(go, (every_s ?? 60) * 1000)
    return {
      close() {
        clearInterval(timer)
        closed.abort()
      },
    }
  },
}

function at(value: unknown, pointer: string): unknown {
  for (const key of pointer.split('/').slice(1))
    value = (value as Record<string, unknown> | null)?.[key.replaceAll('~1', '/').replaceAll('~0', '~')]
  return value
}
