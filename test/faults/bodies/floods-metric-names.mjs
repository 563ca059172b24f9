export default (_, ctx) => {
  for (let n = 0; n < 20_000; n++) ctx.metric(`m${n}`, n)
  return { y: 1 }
}
