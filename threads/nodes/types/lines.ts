import Type, { type Static } from 'typebox'
import { limits } from '../../../protocol/limits.ts'
import { linesAddress } from '../lines-address.ts'
import type { NodeTypeDefinition } from '../node-type.ts'

export const LinesSettings = Type.Object(
  {
    listen: Type.String({
      maxLength: limits.URL_CHARACTERS,
      title: 'Listen',
      description:
        'Where lines come from: `tcp://127.0.0.1:8094`, `udp://127.0.0.1:8094`, `unix:///run/sensors.sock`, or `file:///var/log/x.log` for a file that grows. Without a host it is 127.0.0.1.',
    }),
    format: Type.Union([Type.Literal('json'), Type.Literal('csv'), Type.Literal('influx')], {
      title: 'Format',
      description: 'JSON objects, CSV, or InfluxDB line protocol, one a line.',
    }),
    fields: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: 256 }), {
        default: {},
        title: 'Fields',
        description:
          'By output port the field that it gets, where their names differ: a field, a tag or a column; a JSON Pointer for JSON; `@measurement` and `@time` (microseconds since 1970) of line protocol.',
      }),
    ),
    measurement: Type.Optional(
      Type.Union([Type.String({ maxLength: 256 }), Type.Null()], {
        default: null,
        title: 'Measurement',
        description: 'Line protocol: lines of other measurements are passed over.',
      }),
    ),
    columns: Type.Optional(
      Type.Union([Type.Array(Type.String({ maxLength: 256 }), { maxItems: 1024 }), Type.Null()], {
        default: null,
        title: 'Columns',
        description: 'CSV: the names of the columns; when absent the first line of each connection has them.',
      }),
    ),
    delimiter: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1,
        default: ',',
        title: 'Delimiter',
        description: 'CSV: between columns.',
      }),
    ),
    from_start: Type.Optional(
      Type.Boolean({
        default: false,
        title: 'From the start',
        description: 'A file: also the lines that it has already.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type LinesSettings = Static<typeof LinesSettings>

/** Listens for lines, and publishes their fields. */
export const linesType: NodeTypeDefinition<LinesSettings> = {
  name: 'lines',
  title: 'Lines',
  summary:
    'Takes JSON lines, CSV or InfluxDB line protocol over TCP, UDP, a Unix socket or from a growing file, and publishes their fields.',
  settings: LinesSettings,
  inputs: { kind: 'none' },
  outputs: {
    kind: 'fields',
    description:
      'Each gets the field of its name, or the one that `fields` names. All fields of a line are one cascade.',
  },
  place: 'connectors',
  side_effects: true,
  namesFile: ({ listen }) => listen.startsWith('file:') || listen.startsWith('unix:'),
  targetKey: ({ listen }) => linesAddress(listen)?.key ?? null,
  check({ node, settings: { listen, fields = {} }, refuse }) {
    if (linesAddress(listen) === null)
      refuse(
        'bad_settings',
        'settings.listen',
        `${JSON.stringify(listen)} is none of tcp://host:port, udp://host:port, unix:///path, file:///path`,
      )
    if (node.ports.outputs.length === 0)
      refuse('validation', 'ports.outputs', 'a lines node needs an output port for each field that it shall publish')
    for (const port of Object.keys(fields))
      if (!node.ports.outputs.some(({ name }) => name === port))
        refuse('bad_settings', `settings.fields.${port}`, `there is no output port "${port}"`)
  },
}
