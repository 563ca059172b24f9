export default () => {
  let reads = 0
  return {
    get y() {
      return reads++ === 0 ? 1 : () => 1
    },
  }
}
