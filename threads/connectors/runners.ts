import type { ConnectorRunner } from './connector.ts'

/** What serves the nodes of a type: loaded with its packages when the first node of the type opens. */
const RUNNERS: Readonly<Record<string, () => Promise<ConnectorRunner<never>>>> = {
  camera: async () => (await import('./media/camera.ts')).cameraRunner,
  http: async () => (await import('./http/http.ts')).httpRunner,
  lines: async () => (await import('./lines/lines.ts')).linesRunner,
  'mqtt-in': async () => (await import('./mqtt/mqtt-in.ts')).mqttInRunner,
  'mqtt-out': async () => (await import('./mqtt/mqtt-out.ts')).mqttOutRunner,
  'http-poll': async () => (await import('./http/http-poll.ts')).httpPollRunner,
  microphone: async () => (await import('./media/microphone.ts')).microphoneRunner,
}

export const RUN_HERE = Object.keys(RUNNERS)

/** Rejects when no type of the name is served here. */
export async function runnerOf(type: string): Promise<ConnectorRunner<never>> {
  const load = Object.hasOwn(RUNNERS, type) ? RUNNERS[type] : undefined
  if (load === undefined) throw new RangeError(`nodes of type ${type} are not served by the connectors thread`)
  return load()
}
