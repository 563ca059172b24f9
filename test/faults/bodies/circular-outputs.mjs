export default () => {
  const y = {}
  y.y = y
  return { y }
}
