export default () => {
  Object.defineProperty(globalThis, 'Promise', { value: class {}, writable: false })
  return { y: 1 }
}
