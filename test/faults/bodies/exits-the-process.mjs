export default () => process.exit(7)
