export default (_, ctx) => {
  for (let n = 0; n < 50_000; n++) ctx.log('x'.repeat(1000))
  return { y: 1 }
}
