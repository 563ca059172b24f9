export default () => {
  setTimeout(() => {
    throw new Error('mine')
  }, 1)
  return new Promise(() => {})
}
