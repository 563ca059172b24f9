export default (_, ctx) => {
  setInterval(() => ctx.emit({ y: 'late' }), 1)
  setInterval(() => ctx.metric('late', 1), 1)
  setInterval(() => (ctx.state.late = 1), 1)
  return { y: 1 }
}
