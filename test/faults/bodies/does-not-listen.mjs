export default async (_, ctx) => {
  ctx.signal.addEventListener('abort', event => event.stopImmediatePropagation())
  for (;;) await new Promise(resolve => setTimeout(resolve, 1))
}
