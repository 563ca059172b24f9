import { ServiceError } from '../../protocol/errors.ts'
import type { Standing } from './gatekeeper.ts'
import type { PanelPrincipal } from './principal.ts'
import type { Claims } from './tokens.ts'

/** Who knows the panels: the nonce under which its screens were let in, and what it may do. */
export interface KnownPanels {
  standing(id: string): { readonly nonce: string; readonly principal: PanelPrincipal } | null
}

/** A token of a panel stands as long as the panel does, and has the nonce that it was minted under. */
export class StandingPanels implements Standing<PanelPrincipal> {
  readonly kind = 'panel'
  readonly #panels: KnownPanels

  constructor(panels: KnownPanels) {
    this.#panels = panels
  }

  principalOf({ subject, binding }: Claims): PanelPrincipal {
    const panel = this.#panels.standing(subject)
    // The nonce comes out of a signature that was checked, so nobody can try others.
    if (panel === null || binding === '' || panel.nonce !== binding)
      throw new ServiceError('unauthenticated', 'The panel was unpaired or removed. Pair the screen again.')
    return panel.principal
  }
}
