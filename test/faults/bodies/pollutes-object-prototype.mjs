export default () => {
  Object.prototype.polluted = 1
  return { y: 1 }
}
