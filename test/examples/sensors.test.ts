import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { example } from '../../docs/examples/index.ts'
import alarm from '../../docs/examples/sensors/alarm.ts'
import filter from '../../docs/examples/sensors/filter.ts'
import { publish, readings } from '../../docs/examples/sensors/publish.ts'
import { eventually, liveEngine } from '../kit/live-engine.ts'
import { Story } from '../kit/live-story.ts'
import { Mosquitto, skip } from '../kit/mosquitto.ts'
import { ROOT } from '../kit/sources.ts'

const { document } = example('sensors')
const settingsOf = <Settings>(id: string): Settings => document.nodes.find(node => node.id === id)!.settings as Settings

/** What the bodies make of the series, one reading after the other, without an engine. */
function expected(): string[] {
  const filtering = { settings: settingsOf<{ median_of: number }>('filter'), state: {} }
  const watching = { settings: settingsOf<Parameters<typeof alarm>[1]['settings']>('alarm'), state: {} }
  return readings().flatMap(({ topic, reading }) => {
    const filtered = filter({ reading, topic }, filtering)
    const changed = filtered === undefined ? undefined : alarm(filtered, watching)?.changed
    return changed === undefined ? [] : [`plant/${changed.sensor}/alarm ${JSON.stringify(changed)}`]
  })
}

test('every reading of three sensors goes through the flow, and each change of an alarm goes out, in order', {
  skip,
}, async t => {
  const { engine } = await liveEngine(t)
  const story = new Story(engine)
  const broker = await Mosquitto.start(t)
  const heard = await broker.heard(t, 'plant/+/alarm')
  const here = structuredClone(document)
  for (const { settings } of here.nodes) if (settings?.['url'] !== undefined) settings['url'] = broker.url
  assert.deepEqual((await story.save('sensors', here)).issues, [])
  await broker.granted('plant/+/reading')
  const sent = await publish(broker.url, 0)
  assert.equal(sent, readings().length)
  await story.executed('sensors', 'filter', sent)
  await eventually(() => heard.length >= expected().length, 'the alarms')
  assert.deepEqual(heard, expected())
  assert.deepEqual(engine.flows.get('sensors').issues, [])
  assert.equal(story.node('sensors', 'filter').errors + story.node('sensors', 'alarm').errors, 0)
  // A screen that comes later is told the newest state of each alarm by the broker.
  const later = await broker.heard(t, 'plant/+/alarm')
  await eventually(() => later.length >= 3, 'the retained alarms')
})

test('the page of the example says which alarms come', () => {
  const page = readFileSync(join(ROOT, 'docs/examples/sensors/README.md'), 'utf8')
  const raised = expected()
    .map(line => JSON.parse(line.slice(line.indexOf(' ') + 1)) as { sensor: string; alarm: boolean; timestamp: string })
    .filter(({ alarm }) => alarm)
  for (const sensor of ['ambient', 'machine', 'cpu']) {
    const own = raised.filter(one => one.sensor === sensor)
    const row = `| \`${sensor}\` | ${own.length} | ${own[0]!.timestamp.slice(0, 16)} |`
    assert.ok(page.includes(row), row)
  }
  assert.ok(page.includes(`${readings().length.toLocaleString('en')} readings`))
})
