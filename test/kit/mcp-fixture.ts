import { setTimeout as sleep } from 'node:timers/promises'
import {
  acceptedContent,
  type CallToolResult,
  createRequestStateCodec,
  fromJsonSchema,
  type InputRequiredResult,
  inputRequired,
  McpServer,
  ResourceTemplate,
  type ServerContext,
} from '@modelcontextprotocol/server'

/**
 * The server that the official conformance suite asks for: tools, resources and prompts of fixed names that use each part of the
 * protocol once. Nothing of the engine is in it; what it tests is what stands before it.
 */

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA='

type Properties = Record<string, object>
type Args = Record<string, never>
type Answer = CallToolResult | InputRequiredResult
type Handler = (args: Args, context: ServerContext) => Promise<Answer>

const schema = (properties: Properties = {}, required: string[] = []) =>
  fromJsonSchema<Args>({ type: 'object', properties, required } as never)
const text = (shown: string): CallToolResult => ({ content: [{ type: 'text', text: shown }] })
const content = (...parts: CallToolResult['content']): CallToolResult => ({ content: parts })

const codec = createRequestStateCodec({ key: 'a key of the fixture alone, 32 bytes' })

const elicit = (message: string, name: string) =>
  inputRequired.elicit({
    message,
    requestedSchema: {
      type: 'object',
      properties: { [name]: name === 'ok' ? { type: 'boolean' } : { type: 'string' } },
      required: [name],
    },
  })
const sample = (asked: string, maxTokens: number) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: asked } }], maxTokens })
const response = ({ mcpReq }: ServerContext, name: string): unknown => mcpReq.inputResponses?.[name]

const send = (context: ServerContext, method: string, params: object): Promise<never> =>
  (context.mcpReq.send as (request: object) => Promise<never>)({ method, params })
const asked = (context: ServerContext, message: string, properties: Properties, required: string[] = []) =>
  send(context, 'elicitation/create', {
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties, ...(required.length > 0 ? { required } : {}) },
  })

export function fixtureServer(): McpServer {
  const server = new McpServer(
    { name: 'fixture', version: '1' },
    {
      requestState: { verify: codec.verify },
      capabilities: {
        logging: {},
        completions: {},
        resources: { subscribe: true, listChanged: true },
        tools: { listChanged: true },
        prompts: { listChanged: true },
      },
    },
  )
  const add = (name: string, properties: Properties, handler: Handler, required: string[] = []) =>
    server.registerTool(name, { description: name, inputSchema: schema(properties, required) }, handler as never)
  addContents(add)
  addRequests(add)
  addRounds(add)
  server.registerTool(
    'json_schema_2020_12_tool',
    { description: 'a schema of 2020-12', inputSchema: fromJsonSchema(SCHEMA_2020_12 as never) },
    async () => text('ok'),
  )
  addResources(server)
  addPrompts(server)
  server.server.setRequestHandler('completion/complete', async () => ({
    completion: { values: ['paris', 'park'], total: 2, hasMore: false },
  }))
  return server
}

type Add = (name: string, properties: Properties, handler: Handler, required?: string[]) => unknown

const resource = (uri: string, mimeType: string, shown: string) =>
  ({ type: 'resource', resource: { uri, mimeType, text: shown } }) as const

function addContents(add: Add): void {
  add('test_simple_text', {}, async () => text('This is a simple text response for testing.'))
  add('test_image_content', {}, async () => content({ type: 'image', data: PNG, mimeType: 'image/png' }))
  add('test_audio_content', {}, async () => content({ type: 'audio', data: WAV, mimeType: 'audio/wav' }))
  add('test_embedded_resource', {}, async () =>
    content(resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')),
  )
  add('test_multiple_content_types', {}, async () =>
    content(
      { type: 'text', text: 'Multiple content types test:' },
      { type: 'image', data: PNG, mimeType: 'image/png' },
      resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ),
  )
  add('test_error_handling', {}, async () => ({
    isError: true,
    ...text('This tool intentionally returns an error for testing'),
  }))
  add('test_headers_tool', { region: { type: 'string', 'x-mcp-header': 'Region' } }, async ({ region }) =>
    text(String(region)),
  )
}

/** What a server may send while it answers. */
function addRequests(add: Add): void {
  const notify = ({ mcpReq }: ServerContext, method: string, params: object) =>
    (mcpReq.notify as (notification: object) => Promise<void>)({ method, params })
  add('test_tool_with_logging', {}, async (_, context) => {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await notify(context, 'notifications/message', { level: 'info', data })
      await sleep(50)
    }
    return text('ok')
  })
  add('test_logging_tool', {}, async (_, { mcpReq }) => {
    await mcpReq.log('info', 'x')
    return text('ok')
  })
  add('test_tool_with_progress', {}, async (_, context) => {
    const progressToken = context.mcpReq._meta?.progressToken
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await notify(context, 'notifications/progress', { progressToken, progress, total: 100, message: `${progress}` })
      await sleep(50)
    }
    return text(String(progressToken))
  })
  add('test_sampling', { prompt: { type: 'string' } }, async ({ prompt }, context) => {
    const messages = [{ role: 'user', content: { type: 'text', text: prompt } }]
    const answer = await send(context, 'sampling/createMessage', { messages, maxTokens: 100 })
    return text(`LLM response: ${(answer as { content: { text: string } }).content.text}`)
  })
  add('test_elicitation', { message: { type: 'string' } }, async ({ message }, context) => {
    const fields = { username: { type: 'string' }, email: { type: 'string' } }
    return text(
      `User response: ${JSON.stringify(await asked(context, String(message), fields, ['username', 'email']))}`,
    )
  })
  add('test_elicitation_sep1034_defaults', {}, async (_, context) => {
    const answer = await asked(context, 'defaults', {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    })
    return text(`Elicitation completed: ${JSON.stringify(answer)}`)
  })
  add('test_elicitation_sep1330_enums', {}, async (_, context) => {
    const words = ['option1', 'option2', 'option3']
    const titles: readonly string[] = ['First Option', 'Second Option', 'Third Option']
    const titled = words.map((_word, at) => ({ const: `value${at + 1}`, title: titles[at] }))
    const answer = await asked(context, 'enums', {
      untitledSingle: { type: 'string', enum: words },
      titledSingle: { type: 'string', oneOf: titled },
      legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
      untitledMulti: { type: 'array', items: { type: 'string', enum: words } },
      titledMulti: { type: 'array', items: { anyOf: titled } },
    })
    return text(`done ${JSON.stringify(answer)}`)
  })
  add('test_reconnection', {}, async (_, { http }) => {
    http?.closeSSE?.()
    await sleep(100)
    return text('Reconnection test completed successfully.')
  })
}

/** Answers of 2026 that ask the client for something and are asked again with it. */
function addRounds(add: Add): void {
  const state = async (of: object, context: ServerContext) => ({ requestState: await codec.mint(of, context) })
  const confirm = () => ({ confirm: elicit('Please confirm', 'ok') })
  add('test_input_required_result_elicitation', {}, async (_, { mcpReq }) => {
    const given = acceptedContent(mcpReq.inputResponses, 'user_name') as { name: string } | undefined
    if (given) return text(`Hello, ${given.name}!`)
    return inputRequired({ inputRequests: { user_name: elicit('What is your name?', 'name') } })
  })
  add('test_input_required_result_sampling', {}, async (_, context) => {
    const given = response(context, 'capital_question')
    if (given) return text(JSON.stringify(given))
    return inputRequired({ inputRequests: { capital_question: sample('What is the capital of France?', 100) } })
  })
  add('test_input_required_result_list_roots', {}, async (_, context) => {
    const given = response(context, 'client_roots')
    return given
      ? text(JSON.stringify(given))
      : inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } })
  })
  add('test_input_required_result_request_state', {}, async (_, context) => {
    if (response(context, 'confirm') && context.mcpReq.requestState()) return text('state-ok')
    return inputRequired({ inputRequests: confirm(), ...(await state({ r: 1 }, context)) })
  })
  add('test_input_required_result_tampered_state', {}, async (_, context) => {
    if (response(context, 'confirm')) return text('state-ok')
    return inputRequired({ inputRequests: confirm(), ...(await state({ r: 1 }, context)) })
  })
  add('test_input_required_result_multiple_inputs', {}, async (_, context) => {
    if (['user_name', 'greeting', 'client_roots'].every(name => response(context, name))) return text('all')
    return inputRequired({
      inputRequests: {
        user_name: elicit('What is your name?', 'name'),
        greeting: sample('Generate a greeting', 50),
        client_roots: inputRequired.listRoots(),
      },
      ...(await state({ r: 1 }, context)),
    })
  })
  add('test_input_required_result_multi_round', {}, async (_, context) => {
    if (response(context, 'step2')) return text('done')
    if (response(context, 'step1')) {
      const inputRequests = { step2: elicit('Step 2: What is your favorite color?', 'color') }
      return inputRequired({ inputRequests, ...(await state({ r: 2 }, context)) })
    }
    const inputRequests = { step1: elicit('Step 1: What is your name?', 'name') }
    return inputRequired({ inputRequests, ...(await state({ r: 1 }, context)) })
  })
  add('test_input_required_result_capabilities', {}, async (_, { mcpReq }) => {
    const key = 'io.modelcontextprotocol/clientCapabilities'
    const has = ((mcpReq.envelope as Record<string, object> | undefined)?.[key] ?? mcpReq._meta?.[key] ?? {}) as object
    const inputRequests = {
      ...('sampling' in has ? { s: sample('x', 10) } : {}),
      ...('elicitation' in has ? { e: elicit('x', 'name') } : {}),
    }
    return Object.keys(inputRequests).length > 0 ? inputRequired({ inputRequests }) : text('none')
  })
  add('test_missing_capability', {}, async (_, context) =>
    response(context, 's') ? text('ok') : inputRequired({ inputRequests: { s: sample('x', 10) } }),
  )
  add('test_streaming_elicitation', {}, async (_, context) =>
    response(context, 'e') ? text('ok') : inputRequired({ inputRequests: { e: elicit('x', 'name') } }),
  )
}

function addResources(server: McpServer): void {
  const shown = 'This is the content of the static text resource.'
  server.registerResource('static-text', 'test://static-text', { mimeType: 'text/plain' }, async ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'text/plain', text: shown }],
  }))
  server.registerResource(
    'static-binary',
    'test://static-binary',
    { mimeType: 'image/png' },
    async ({ href: uri }) => ({
      contents: [{ uri, mimeType: 'image/png', blob: PNG }],
    }),
  )
  server.registerResource('watched', 'test://watched-resource', { mimeType: 'text/plain' }, async ({ href: uri }) => ({
    contents: [{ uri, text: 'w' }],
  }))
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined })
  server.registerResource('template', template, { mimeType: 'application/json' }, async ({ href: uri }, { id }) => ({
    contents: [
      {
        uri,
        mimeType: 'application/json',
        text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
      },
    ],
  }))
  server.server.setRequestHandler('resources/subscribe', async () => ({}))
  server.server.setRequestHandler('resources/unsubscribe', async () => ({}))
}

function addPrompts(server: McpServer): void {
  type Part = CallToolResult['content'][number]
  const messages = (...parts: Part[]) => ({ messages: parts.map(part => ({ role: 'user' as const, content: part })) })
  const said = (shown: string): Part => ({ type: 'text', text: shown })
  const args = (...names: string[]) => schema(Object.fromEntries(names.map(name => [name, { type: 'string' }])), names)
  server.registerPrompt('test_simple_prompt', { description: 'one message' }, async () =>
    messages(said('This is a simple prompt for testing.')),
  )
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'two arguments', argsSchema: args('arg1', 'arg2') as never },
    (async ({ arg1, arg2 }: Record<string, string>) =>
      messages(said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))) as never,
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'a resource', argsSchema: args('resourceUri') as never },
    (async ({ resourceUri }: { resourceUri: string }) =>
      messages(
        resource(resourceUri, 'text/plain', 'Embedded resource content for testing.'),
        said('Please process the embedded resource above.'),
      )) as never,
  )
  server.registerPrompt('test_prompt_with_image', { description: 'an image' }, async () =>
    messages({ type: 'image', data: PNG, mimeType: 'image/png' }, said('Please analyze the image above.')),
  )
  server.registerPrompt('test_input_required_result_prompt', { description: 'asks back' }, (async ({
    mcpReq,
  }: ServerContext) => {
    if (acceptedContent(mcpReq.inputResponses, 'user_context')) return messages(said('ok'))
    return inputRequired({ inputRequests: { user_context: elicit('What context should the prompt use?', 'context') } })
  }) as never)
}

const SCHEMA_2020_12 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
}
