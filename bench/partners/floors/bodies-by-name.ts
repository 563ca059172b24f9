/**
 * The floor of `growth`: a body found by its name in a map and called, one thread.
 *   burst({flows, publishes}) -> {seconds}
 */
import { answer } from '../../partner.ts'

type Body = (inputs: { x: number }) => { y: number }

answer({
  burst({ flows, publishes }: { flows: number; publishes: number }) {
    const names = Array.from({ length: flows }, (_, flow) => `flow${flow}.x`)
    const bodies = new Map<string, Body>(names.map(name => [name, ({ x }) => ({ y: x + 1 })]))
    let sum = 0
    const began_ms = performance.now()
    for (let publish = 0; publish < publishes; publish++) {
      sum += bodies.get(names[publish % flows]!)!({ x: publish }).y
    }
    return { seconds: (performance.now() - began_ms) / 1000, sum }
  },
})
