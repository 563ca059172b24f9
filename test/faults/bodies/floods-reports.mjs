export default (_, ctx) => {
  for (let n = 0; n < 20_000; n++) ctx.report(n % 2 ? 'ok' : 'down', 'x'.repeat(1000))
  return { y: 1 }
}
