export default (_, ctx) => {
  for (let n = 0; n < 300_000; n++) ctx.metric('m', n)
  return { y: 1 }
}
