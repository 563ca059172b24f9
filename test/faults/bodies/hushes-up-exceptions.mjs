export default () => {
  process.removeAllListeners()
  process.on('uncaughtException', () => {})
  process.on('unhandledRejection', () => {})
  process.setUncaughtExceptionCaptureCallback(() => {})
  return { y: 1 }
}
