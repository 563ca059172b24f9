/**
 * Messages of 100 bytes a second: published to a topic, taken by a contestant, and published by it to another topic, from where they come back. At most
 * `WINDOW` messages are on their way, so that neither a broker nor a contestant that keeps up drops any.
 *
 * `mosquitto`: Debian's, with its defaults, between a load generator and the contestant. One core of mosquitto handles each message four times, which
 * bounds every contestant: `alone` is the load generator with mosquitto and nobody between, each message handled twice. `stand-in`: a partner that
 * is broker and load at once and costs less, so that the contestants are what is measured.
 *
 * Each contestant has a process and topics of its own and runs alone, in turn, on the same brokers. The floor hands on the bytes that come; ours and the
 * rival read the JSON, run one node and write JSON. Ours has a thread for the connections and one lane, beside the store thread, which keeps the history.
 *
 * `lost`: messages that did not come back, of those sent.
 */
import { join } from 'node:path'
import type { FlowDocument } from '../protocol/nouns/flow-document.ts'
import { startOurs } from './engine.ts'
import { type Bench, type Contestant, compare, MissingPart, median, type Row, RUNS, row } from './kit.ts'
import { type FlowEntry, functionNode, startNodeRed, tab } from './node-red.ts'
import { Partner } from './partner.ts'
import type { MqttLoop, MqttSeen } from './partners/loads/mqtt-load.ts'

const WINDOW = 500
const SECONDS = 2
const QOS = [0, 1] as const
type Qos = (typeof QOS)[number]
type Who = 'floor' | 'ours' | 'rival'
const BROKERS = ['mosquitto', 'stand-in'] as const
type Broker = (typeof BROKERS)[number]

interface Brokers {
  /** Whom to ask to send. */
  readonly load: Readonly<Record<Broker, Partner>>
  readonly port: Readonly<Record<Broker, number>>
}

const bench: Bench = {
  name: 'mqtt',
  shows: 'messages a second of 100 bytes: a broker, mqtt-in, a code node, mqtt-out, the broker',
  floor: 'a bare client of the library mqtt that publishes what it gets',
  rival: 'Node-RED 4 headless: mqtt in, a function node, mqtt out',
  async run(): Promise<Row[]> {
    const brokers = await start()
    const [floor, { partner: ours }] = await Promise.all([partner('floors/bare-mqtt'), startOurs()])
    for (const broker of BROKERS)
      for (const qos of QOS) await floor.ask('loop', looped('floor', brokers.port[broker], qos))
    for (const broker of BROKERS)
      await ours.ask('save', { name: flowName(broker), document: flow(brokers.port[broker]) })
    await startNodeRed(BROKERS.flatMap(broker => nodeRedFlow(broker, brokers.port[broker])))
    const contestants = {
      floor: contestant('floor', brokers),
      ours: contestant('ours', brokers),
      rival: contestant('rival', brokers),
    }
    for (const who of ['floor', 'ours', 'rival'] as const)
      for (const broker of BROKERS)
        for (const qos of QOS) await brokers.load[broker].ask('opened', seen(who, brokers.port[broker], qos))
    for (const one of Object.values(contestants)) await one()
    const unit = Object.fromEntries(
      BROKERS.flatMap(broker =>
        QOS.flatMap(qos => [
          [nameOf(broker, qos), 'messages/s'],
          [`${nameOf(broker, qos)}, lost`, 'share'],
        ]),
      ),
    )
    const alone = await aloneRows(brokers)
    return [...alone, ...(await compare({ unit, runs: RUNS, ...contestants }))]
  },
}
export default bench

const partner = (name: string): Promise<Partner> => Partner.start(join(import.meta.dirname, 'partners', `${name}.ts`))
const nameOf = (broker: Broker, qos: Qos): string => `${broker} QoS ${qos}`
const flowName = (broker: Broker): string => broker.replace('-', '_')

async function start(): Promise<Brokers> {
  const [mosquitto, load, stand_in] = await Promise.all([
    partner('mosquitto'),
    partner('loads/mqtt-load'),
    partner('floors/mqtt-stand-in'),
  ])
  const { port } = await mosquitto.ask<{ port: number | null }>('listen')
  if (port === null) throw new MissingPart('the broker mosquitto (Debian: apt install mosquitto)')
  const stand_in_port = (await stand_in.ask<{ port: number }>('listen')).port
  return { load: { mosquitto: load, 'stand-in': stand_in }, port: { mosquitto: port, 'stand-in': stand_in_port } }
}

/** As a contestant sees it. */
const looped = (who: Who, port: number, qos: Qos): MqttLoop => ({
  port,
  from: `${who}/in/${qos}`,
  to: `${who}/out/${qos}`,
  qos,
})
/** As the load sees it. */
function seen(who: Who, port: number, qos: Qos): MqttLoop {
  const { from, to } = looped(who, port, qos)
  return { port, from: to, to: from, qos }
}

const contestant =
  (who: Who, { load, port }: Brokers): Contestant =>
  async () => {
    const figures: Record<string, number> = {}
    for (const broker of BROKERS)
      for (const qos of QOS) {
        const asked = { ...seen(who, port[broker], qos), window: WINDOW, seconds: SECONDS }
        const { sent, came, seconds } = await load[broker].ask<MqttSeen>('send', asked)
        figures[nameOf(broker, qos)] = came / seconds
        figures[`${nameOf(broker, qos)}, lost`] = (sent - came) / sent
      }
    return figures
  }

async function aloneRows({ load, port }: Brokers): Promise<Row[]> {
  const rows: Row[] = []
  for (const qos of QOS) {
    const rates: number[] = []
    for (let run = 0; run < RUNS; run++) {
      const asked = { port: port.mosquitto, from: 'alone', to: 'alone', qos, window: WINDOW, seconds: 1 }
      const { came, seconds } = await load.mosquitto.ask<MqttSeen>('send', asked)
      rates.push(came / seconds)
    }
    rows.push(row(`mosquitto QoS ${qos}, alone`, 'messages/s', RUNS, { floor: median(rates), ours: null, rival: null }))
  }
  return rows
}

function flow(port: number): FlowDocument {
  const url = `mqtt://127.0.0.1:${port}`
  return {
    nodes: QOS.flatMap((qos): FlowDocument['nodes'] => {
      const { from, to } = looped('ours', port, qos)
      const [read, made] = [`read${qos}`, `made${qos}`]
      return [
        {
          id: `in${qos}`,
          type: 'mqtt-in',
          settings: { url, topics: [from], qos },
          ports: { outputs: [{ name: 'value', dtype: 'json', message: read }] },
        },
        {
          id: `body${qos}`,
          type: 'code',
          language: 'js',
          source: 'export default ({ value }) => ({ made: { ...value, n: value.n + 1 } })',
          ports: {
            inputs: [{ name: 'value', dtype: 'json', message: read }],
            outputs: [{ name: 'made', dtype: 'json', message: made }],
          },
        },
        {
          id: `out${qos}`,
          type: 'mqtt-out',
          settings: { url, topic: to, qos },
          ports: { inputs: [{ name: 'value', dtype: 'json', message: made }] },
        },
      ]
    }),
  }
}

function nodeRedFlow(broker: Broker, port: number): FlowEntry[] {
  const on = { z: broker, x: 0, y: 0, broker: `${broker}-broker` }
  const id = (name: string, qos: Qos): string => `${broker}-${name}${qos}`
  return [
    tab(broker),
    {
      id: on.broker,
      type: 'mqtt-broker',
      broker: '127.0.0.1',
      port: String(port),
      protocolVersion: '5',
      keepalive: '60',
      cleansession: true,
      autoConnect: true,
      usetls: false,
      clientid: '',
    },
    ...QOS.flatMap(qos => {
      const { from, to } = looped('rival', port, qos)
      const [into, body, out] = [id('in', qos), id('body', qos), id('out', qos)]
      return [
        { ...on, id: into, type: 'mqtt in', topic: from, qos: String(qos), datatype: 'json', wires: [[body]] },
        functionNode(body, 'return { payload: { ...msg.payload, n: msg.payload.n + 1 } };', [out], broker),
        { ...on, id: out, type: 'mqtt out', topic: to, qos: String(qos), retain: 'false', wires: [] },
      ]
    }),
  ]
}
