/** One producer or one lane of the stress. It works until it has done its part or the words say stop. */
import assert from 'node:assert/strict'
import { parentPort, workerData } from 'node:worker_threads'
import { flowsOf } from '../../../../core/cascade/publish/together.ts'
import { GROUP } from '../../../../core/cascade/queue/item.ts'
import { SHARED_SET, setOf } from '../../../../core/cascade/queue/ready.ts'
import { KIND } from '../../../../core/memory/encoded.ts'
import { attachMemory } from '../../../../core/memory/region.ts'
import { Sleeper } from '../../../../core/memory/wait.ts'
import { randomFrom } from '../../../kit/random.ts'
import { emission, emptyItem, float, refusal, Station } from './station.ts'
import { BESIDE, checkText, INGRESS, INNER, MESSAGES, type StressData, text, WORDS } from './stress.ts'

const { sab, words, slot, publishes, seed } = workerData as StressData
const memory = attachMemory(sab)
const station = new Station(memory, slot)
const random = randomFrom(seed)
const below = (bound: number): number => Math.floor(random() * bound)
parentPort!.postMessage('ready')
if (publishes > 0) produce()
else consume()

function produce(): void {
  const SIZES = [10, 81, 900, 1500, 5000, 30_000]
  for (let done = 0; done < publishes; ) {
    const where = INGRESS[below(INGRESS.length)]!
    const value = below(3) > 0 ? float(done) : text(below(200), SIZES[below(SIZES.length)]!)
    const list = below(8) === 0 ? [where, INGRESS[below(INGRESS.length)]!, where] : [where]
    const versions: number[] = []
    const code =
      list.length > 1
        ? station.publisher.publishList(list, [value, float(done), value], 100, versions)
        : station.publisher.publish(where, value, 100)
    const version = versions[0] ?? code
    if (version > 0) {
      done++
      // Somebody else may be ahead of us, never behind.
      assert.ok(station.messages.version(where.message) >= version)
      if (list.length > 1) assert.ok(versions[2]! > version, 'a list gives its versions in its order')
      if (done % 16 === 0) station.endUnit()
    } else {
      assert.match(refusal(version)!, /backlogged|arena_full|queue_full|journal_full|held/)
      station.endUnit()
      Atomics.wait(words, WORDS.stop, 0, 1)
    }
    if (Atomics.load(words, WORDS.stop) === 1) return
  }
  station.endUnit()
  Atomics.add(words, WORDS.produced, 1)
}

function consume(): void {
  const sleeper = new Sleeper(memory, slot)
  const item = emptyItem()
  let cursor = 0
  station.ready.enterLane(slot)
  const next = (): number => {
    const own = station.ready.take(setOf(slot), cursor)
    return own >= 0 ? own : station.ready.take(SHARED_SET, cursor)
  }
  while (Atomics.load(words, WORDS.stop) === 0) {
    const flow = next()
    if (flow < 0) {
      const ticket = sleeper.announce()
      const work = station.ready.mayHold(setOf(slot)) || station.ready.mayHold(SHARED_SET)
      if (work || Atomics.load(words, WORDS.stop) === 1) sleeper.cancel()
      // Nothing but a wake ends this sleep, so a lost one leaves the flows standing.
      else sleeper.sleep(ticket, Number.POSITIVE_INFINITY)
      continue
    }
    cursor = flow + 1
    if (!station.flows.claim(flow, station.owner)) {
      station.ready.markReady(flow)
      continue
    }
    for (let left = 64; left > 0 && station.queue.take(flow, item); left--) {
      // Its owner may have died between the two.
      assert.ok((item.group & GROUP.joins) === 0 || words[WORDS.deaths]! > 0, 'a group is taken whole')
      receive(flow)
      while ((item.group & GROUP.goes_on) !== 0 && station.queue.takeJoined(flow, item)) receive(flow)
    }
    station.endUnit()
    station.flows.release(flow, station.owner)
    if (station.queue.isTakeable(flow)) station.ready.markReady(flow)
  }
  station.ready.leaveLane(slot)

  function receive(flow: number): void {
    const last = WORDS.last + flow * MESSAGES + item.message
    const grace = WORDS.grace + flow
    const skipped = item.version - words[last]! - 1
    // A lane that died had taken one item and not told.
    if (skipped === 1 && words[grace] === 1) words[grace] = 0
    else assert.equal(skipped, 0, `flow ${flow}: message ${item.message} jumps from ${words[last]} to ${item.version}`)
    words[last] = item.version
    if (item.value.kind === KIND.str) checkText(item.value)
    if (item.depth > 0 || below(4) > 0) return
    const inner = INNER[flow]!
    if (!station.journal.waitForRoom(40_000, () => Atomics.load(words, WORDS.stop) === 1)) return
    if (below(2) === 0) {
      station.publisher.publishInner(inner, item.value, 200, item.depth, 1, 1)
      return
    }
    const given = emission([
      [inner, item.value],
      [BESIDE[flow]!, item.value],
    ])
    station.publisher.publishEmission(given, flowsOf(given.routes), 200, item.depth, 1, 1)
  }
}
