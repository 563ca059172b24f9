import assert from 'node:assert/strict'
import { Arena } from '../../../core/memory/arena.ts'
import { NodeStates } from '../../../core/memory/states.ts'
import { ownerWord } from '../../../core/memory/threads.ts'
import { scenario } from '../../kit/scenario.ts'

export const SLOT = 8
export const OWNER = ownerWord(1, SLOT)
const BEFORE = ownerWord(1, 9)
export const NODES = [0, 1]
/** Bytes of each version of a state; its bytes are its version. The first one is written by the lane that had the flow before. */
export const LENGTHS = [0, 3000, 100, 3000, 20_000]

export const stateOf = (version: number): Buffer => Buffer.alloc(LENGTHS[version]!, version)

/** A lane keeps the states of two nodes at the ends of its turns, and is ended on the way. */
export default scenario({
  sizes: { arena_bytes: 8 * 64 * 1024 },
  prepare(memory) {
    const states = new NodeStates(memory, new Arena(memory, BEFORE))
    for (const node of NODES) assert.ok(states.write(node, stateOf(1)))
  },
  threads: [
    memory => {
      const states = new NodeStates(memory, new Arena(memory, OWNER))
      return () => {
        for (let version = 2; version < LENGTHS.length; version++)
          for (const node of NODES) assert.ok(states.write(node, stateOf(version)))
      }
    },
    () => () => {},
  ],
  check() {},
})
