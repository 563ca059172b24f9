export default () => {
  process.kill(process.pid, 'SIGKILL')
  for (;;);
}
