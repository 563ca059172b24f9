export default () => process.reallyExit(7)
