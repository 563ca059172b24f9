import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FlowFacts } from '../../../core/flow/facts.ts'
import { Wiring } from '../../../core/flow/wiring.ts'
import { randomFrom, seed } from '../../kit/random.ts'

const STEPS = process.env['LONG'] === undefined ? 600 : 20_000
const FLOWS = 14

/** The same answers, worked out from all flows each time. */
class SlowWiring {
  readonly facts = new Map<string, FlowFacts>()

  readersOf(message: string): string[] {
    return [...this.facts.values()]
      .filter(facts => facts.enabled && facts.triggers.has(message))
      .map(({ flow }) => flow)
  }

  targets(flow: string): string[] {
    const messages = [...(this.facts.get(flow)?.messages.keys() ?? [])]
    return messages.flatMap(message => this.readersOf(`${flow}.${message}`)).filter(reader => reader !== flow)
  }

  reachable(flow: string): Set<string> {
    const found = new Set(this.targets(flow))
    for (const reached of found) for (const target of this.targets(reached)) found.add(target)
    found.delete(flow)
    return found
  }

  /** All that a plan of the flow takes from the wiring, as a text. */
  seenBy(flow: string): string {
    const facts = this.facts.get(flow)
    if (!facts) return ''
    const readers = [...facts.messages.keys()].sort().map(message => this.readersOf(`${flow}.${message}`).sort())
    const dtypes = [...facts.references].sort().map(reference => {
      const [owner, name] = reference.split('.') as [string, string]
      return this.facts.get(owner)?.messages.get(name)?.dtype ?? null
    })
    return JSON.stringify([readers, dtypes, [...this.reachable(flow)].sort()])
  }
}

test(`after any saves the wiring is what all flows together say, and names every plan that it made old (seed ${seed})`, () => {
  const random = randomFrom(seed)
  const below = (end: number): number => Math.floor(random() * end)
  const wiring = new Wiring()
  const slow = new SlowWiring()
  const names = Array.from({ length: FLOWS }, (_, index) => `f${index}`)
  for (let step = 0; step < STEPS; step++) {
    const flow = names[below(FLOWS)]!
    const before = new Map(names.map(name => [name, slow.seenBy(name)]))
    let stale: string[]
    if (random() < 0.15) {
      slow.facts.delete(flow)
      stale = wiring.remove(flow)
    } else {
      const pick = (): string[] =>
        Array.from({ length: below(4) }, () => `${names[below(FLOWS)]}.m${below(2)}`).filter(
          name => !name.startsWith(`${flow}.`),
        )
      const triggers = pick()
      const facts: FlowFacts = {
        flow,
        enabled: random() < 0.85,
        messages: new Map(
          ['m0', 'm1']
            .filter(() => random() < 0.8)
            .map(name => [name, { dtype: random() < 0.5 ? 'int' : 'float', producer: null }]),
        ),
        triggers: new Set(triggers),
        references: new Set([...triggers, ...pick()]),
      }
      slow.facts.set(flow, facts)
      stale = wiring.set(facts)
    }
    for (const name of names) {
      assert.deepEqual(new Set(wiring.reachable(name)), slow.reachable(name), `step ${step}: reach of ${name}`)
      for (const message of ['m0', 'm1'])
        assert.deepEqual(
          [...wiring.readersOf(`${name}.${message}`)].sort(),
          slow.readersOf(`${name}.${message}`).sort(),
        )
      if (name !== flow && slow.seenBy(name) !== before.get(name))
        assert.ok(stale.includes(name), `step ${step}: ${flow} changed what ${name} sees`)
      for (const cycle of wiring.cyclesThrough(name))
        cycle.forEach((member, at) => {
          assert.ok(
            slow.targets(member).includes(cycle[(at + 1) % cycle.length]!),
            `step ${step}: ${cycle.join(' -> ')}`,
          )
        })
      const loops = slow.targets(name).some(target => slow.reachable(target).has(name))
      assert.equal(wiring.cyclesThrough(name).length > 0, loops)
    }
    assert.ok(!stale.includes(flow) && new Set(stale).size === stale.length)
    for (const name of stale) assert.ok(slow.facts.has(name), `step ${step}: ${name} is there`)
  }
})
