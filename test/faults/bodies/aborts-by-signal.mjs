export default () => {
  process.kill(process.pid, 'SIGABRT')
  for (;;);
}
