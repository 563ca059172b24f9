export default () => ({
  get then() {
    throw new Error('mine')
  },
})
