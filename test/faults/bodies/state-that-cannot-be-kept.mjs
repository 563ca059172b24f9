export default (_, ctx) => {
  ctx.state.f = () => 1
  return { y: 1 }
}
