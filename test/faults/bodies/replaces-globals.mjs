const forged = () => 'forged'
export default () => {
  for (const name of ['Promise', 'Map', 'JSON', 'Object', 'Array', 'setTimeout', 'setImmediate', 'queueMicrotask', 'structuredClone', 'performance', 'fetch', 'Buffer'])
    globalThis[name] = forged
  return { y: 1 }
}
