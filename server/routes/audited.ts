import type { Audit } from '../auth/audit.ts'
import type { Caller } from '../auth/principal.ts'
import type { Answer, Route } from '../http/route.ts'

/** A route that tells what was done, when it was done and not refused. */
export function audited(route: Route, audit: Audit): Route {
  const rule = route.audit
  if (rule === null) return route
  const handle: Route['handle'] = request => {
    const { caller, address } = request as { caller: Caller | null; address: string }
    const told = (answer: Answer): Answer => {
      const object = typeof rule.object === 'string' ? rule.object : rule.object(request as never, answer)
      audit.done({ action: rule.action, actor: caller?.actor ?? null, object, address })
      return answer
    }
    const answer = route.handle(request)
    return answer instanceof Promise ? answer.then(told) : told(answer)
  }
  return { ...route, address: true, handle }
}
