/**
 * A client of the library `mqtt` that publishes what it gets, as it is, to another topic.
 *   loop({port, from, to, qos}) -> {}   subscribed
 */
import mqtt from 'mqtt'
import { answer } from '../../partner.ts'

answer({
  async loop({ port, from, to, qos }: { port: number; from: string; to: string; qos: 0 | 1 }) {
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { protocolVersion: 5 })
    client.on('message', (_topic, payload) => client.publish(to, payload, { qos }))
    await client.subscribeAsync(from, { qos })
    return {}
  },
})
