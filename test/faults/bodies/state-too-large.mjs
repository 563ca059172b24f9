export default (_, ctx) => {
  ctx.state.f = 'x'.repeat(2 ** 20)
  return { y: 1 }
}
