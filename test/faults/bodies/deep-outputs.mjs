export default () => {
  let y = 1
  for (let depth = 0; depth < 100_000; depth++) y = [y]
  return { y }
}
