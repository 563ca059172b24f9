import { ServiceError } from '../../protocol/errors.ts'
import type { ConnectorPlan, ConnectorsOfFlow } from '../../threads/connectors/messages.ts'
import { secretsOf, withSecrets } from '../../threads/nodes/secrets.ts'

export interface SecretTexts {
  /** Throws a ServiceError when there is none. */
  text(name: string): string
  /** Changes with the value; '' while there is none. */
  version(name: string): string
}

/**
 * Looks secrets up in settings of connectors, on their way to the thread that serves them. The version of each is part of the node's change
 * key, so that another value makes the nodes that use it begin anew, and no others.
 */
export class SecretSettings {
  readonly #secrets: SecretTexts
  readonly #post: (flow: ConnectorsOfFlow) => void
  /** As documents have them, by the index of the flow: those with a secret. */
  readonly #flows = new Map<number, ConnectorsOfFlow>()

  constructor(secrets: SecretTexts, post: (flow: ConnectorsOfFlow) => void) {
    this.#secrets = secrets
    this.#post = post
  }

  set(flow: ConnectorsOfFlow): void {
    if (namesIn(flow).length > 0) this.#flows.set(flow.flow, flow)
    else this.#flows.delete(flow.flow)
    this.#post(this.#resolved(flow))
  }

  changed(name: string): void {
    for (const flow of this.#flows.values()) if (namesIn(flow).includes(name)) this.#post(this.#resolved(flow))
  }

  plan(plan: ConnectorPlan): ConnectorPlan {
    const named = secretsOf(plan.settings, '').map(({ name }) => name)
    if (named.length === 0) return plan
    const versions = named.map(name => this.#secrets.version(name)).join(' ')
    const change_key = `${plan.change_key} ${versions}`
    try {
      const settings = withSecrets(plan.settings, name => this.#secrets.text(name)) as Record<string, unknown>
      return { ...plan, change_key, settings }
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      return { ...plan, change_key, refusal: { code: error.code, message: sentence(error.detail) } }
    }
  }

  #resolved(flow: ConnectorsOfFlow): ConnectorsOfFlow {
    return { ...flow, nodes: flow.nodes.map(plan => this.plan(plan)) }
  }
}

const namesIn = ({ nodes }: ConnectorsOfFlow): string[] =>
  nodes.flatMap(({ settings }) => secretsOf(settings, '').map(({ name }) => name))

/** As the issues of a flow have reasons: in the middle of a sentence, without its full stop. */
const sentence = (detail: string): string => `${detail[0]!.toLowerCase()}${detail.slice(1).replace(/\.( .*)?$/, '')}`
