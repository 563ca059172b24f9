export default () => process.abort()
