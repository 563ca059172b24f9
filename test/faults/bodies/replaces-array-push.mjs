export default () => {
  Array.prototype.push = () => 0
  return { y: 1 }
}
