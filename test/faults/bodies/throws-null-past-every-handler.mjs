export default () => {
  process.removeAllListeners('uncaughtException')
  setTimeout(() => {
    throw null
  }, 1)
  return new Promise(() => {})
}
