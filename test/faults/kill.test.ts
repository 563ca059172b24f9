import { join } from 'node:path'
import { test } from 'node:test'
import { randomFrom, seed } from '../kit/random.ts'
import { directoryFor } from '../kit/spawned.ts'
import { KillRounds } from './kill-round.ts'

const ROUNDS = 3

test(`an engine killed under load loses nothing that was durable and at most the last moment of history (SEED=${seed})`, async t => {
  const killing = new KillRounds(join(directoryFor(t), 'data'), randomFrom(seed), 1000)
  try {
    for (let round = 0; round < ROUNDS; round++) await killing.round()
  } finally {
    await killing.end()
  }
})
