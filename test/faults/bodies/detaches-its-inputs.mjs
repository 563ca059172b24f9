export default (inputs, ctx) => {
  const buffer = new ArrayBuffer(8)
  structuredClone(buffer, { transfer: [buffer] })
  for (const key of Object.keys(inputs)) delete inputs[key]
  ctx.settings.x = buffer
  Object.setPrototypeOf(inputs, null)
  return { y: buffer.byteLength }
}
