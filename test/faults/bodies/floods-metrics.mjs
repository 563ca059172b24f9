export default (_, ctx) => {
  for (let n = 0; n < 1_200_000; n++) ctx.metric('m', n)
  return { y: 1 }
}
