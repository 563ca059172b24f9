const thrown = [null, undefined, Symbol('mine'), 0n, () => 1, new Proxy({}, { get: () => null.x, getPrototypeOf: () => null.x })]
export default ({ x }) => {
  throw thrown[x % thrown.length]
}
