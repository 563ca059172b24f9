/** An example of each body, by the operation that takes it. A test holds them against the schemas. */
export const BODIES: Readonly<Record<string, unknown>> = {
  createFlow: {
    name: 'boiler',
    document: {
      inputs: [{ message: 'raw', dtype: 'float' }],
      nodes: [
        {
          id: 'scale',
          type: 'code',
          language: 'js',
          source: 'export default ({ raw }) => ({ temperature: raw / 10 })',
          ports: { inputs: [{ name: 'raw', dtype: 'float' }], outputs: [{ name: 'temperature', dtype: 'float' }] },
        },
      ],
    },
  },
  saveFlow: { document: { inputs: [{ message: 'raw', dtype: 'float' }], nodes: [] }, message: 'Begin with an input' },
  renameFlow: { to: 'boiler_2' },
  restoreFlow: { commit: '3f2a9c1b' },
  tryFlowNode: {
    inputs: { raw: 812 },
    source: 'export default ({ raw }) => ({ temperature: raw / 100 })',
    timeout_s: 5,
  },
  publishMessages: [
    { name: 'boiler.raw', value: 812 },
    { name: 'boiler.raw', value: 815 },
  ],
  publishMessage: { value: 812 },
  createRun: { inputs: { learning_rate: 0.01 }, seed: 7, group: 'learning-rates' },
  changeRun: { add_tags: ['baseline'], note: 'The one to beat.' },
  putFlavor: { cpus: 4, ram: 8192 },
  saveDashboard: {
    document: {
      locked: false,
      tiles: [
        {
          id: 'pressure',
          type: 'value',
          settings: { message: 'boiler.pressure', unit: 'bar', low: 10.4, high: 13 },
          position: { wide: { x: 0, y: 0, width: 3, height: 3 } },
        },
      ],
    },
    version: 3,
  },
  restoreDashboard: { version: 2 },
  createPanel: { name: 'entrance', dashboards: ['hall'] },
  changePanel: { dashboards: ['hall', 'office'] },
  approvePanel: { code: 'K7Q2MX' },
  putSecret: { value: 'a password of a broker' },
  claimPairing: { secret: 'uR0v2xjYV3mK9bqk1s5nJb8yT4zQ6wE7aH0cL2dF3gM' },
  signInBrowser: { username: 'ada', password: 'a long pass phrase' },
  signIn: { username: 'ada', password: 'a long pass phrase' },
  createUser: { name: 'ada', password: 'a long pass phrase' },
  createClient: { name: 'claude', scopes: ['read', 'run'] },
  changeUser: { role: 'operator', mail: 'ada@example.org' },
  changeOwnUser: { display_name: 'Ada' },
  registerClient: { client_name: 'an agent', redirect_uris: ['http://127.0.0.1:3000/callback'] },
  decideConsent: {
    request: 'dGhlIGlkIG9mIHRoZSBwYWdl',
    decision: 'allow',
    username: 'ada',
    password: 'a long pass phrase',
  },
  exchangeToken: { grant_type: 'refresh_token', refresh_token: 'eyJhbGciOi' },
  revokeToken: { token: 'eyJhbGciOi' },
  createLastingToken: { name: 'prometheus', rights: ['metrics'], expires_s: 31_536_000 },
  changePassword: { old: 'a long pass phrase', new: 'a longer pass phrase' },
  recoverPassword: { username: 'ada' },
  resetPassword: { token: 'eyJhbGciOi', password: 'a longer pass phrase' },
}
