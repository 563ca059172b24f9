import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { killAtEachStep } from '../../kit/interleave.ts'
import { checkDeath, type DeathScenario, dieAtEachStep } from './kit/deaths.ts'

const scenario = (name: string): URL => new URL(`./${name}.scenario.ts`, import.meta.url)

describe('a thread that dies at any step', () => {
  test('of a publish has published or has not: versions go on, every reader and the store agree', async () => {
    assert.ok((await dieAtEachStep(scenario('publish-dies'))) > 100)
  })

  test('of telling a lane leaves the owner of each flow, or any lane, told', async () => {
    assert.ok((await dieAtEachStep(scenario('mark-dies'))) > 100)
  })

  test('of its turns leaves no flow without a mark, no item lost or taken twice, no segment and no slab', async () => {
    assert.ok((await dieAtEachStep(scenario('lane-dies'))) > 400)
  })
})
