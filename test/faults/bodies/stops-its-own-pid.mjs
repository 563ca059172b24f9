export default ({ x }) => {
  process.kill(process.pid, 'SIGSTOP')
  return { y: x }
}
