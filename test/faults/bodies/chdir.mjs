export default () => {
  process.chdir('/')
  return { y: process.cwd() }
}
