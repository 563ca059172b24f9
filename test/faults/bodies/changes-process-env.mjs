export default () => {
  for (const name of Object.keys(process.env)) process.env[name] = 'forged'
  process.env.POLLUTED = '1'
  return { y: 1 }
}
