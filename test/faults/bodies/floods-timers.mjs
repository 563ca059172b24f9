export default () => {
  for (let n = 0; n < 2_000; n++) setInterval(() => {}, 1)
  return { y: 1 }
}
