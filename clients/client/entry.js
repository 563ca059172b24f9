// What `flow-engine/client` loads. JavaScript, because Node strips no types in node_modules: there the hook of our own sources does
// it. In a clone, or a package that was linked, Node does it by itself.
if (import.meta.url.includes('/node_modules/')) await import('../cli/start/stripped-sources.js')

export const { Client, ClientError, connect, followLive, hasEnded } = await import('./index.ts')
