export default () => ({
  get y() {
    throw new Error('mine')
  },
})
