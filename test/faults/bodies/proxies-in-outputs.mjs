const trap = () => {
  throw new Error('mine')
}
export default () => ({ y: new Proxy({}, { get: trap, ownKeys: trap, getPrototypeOf: trap, getOwnPropertyDescriptor: trap }) })
