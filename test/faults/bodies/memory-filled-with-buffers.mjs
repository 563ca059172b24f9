export default () => {
  const kept = []
  for (;;) kept.push(Buffer.alloc(8 * 2 ** 20, 1))
}
