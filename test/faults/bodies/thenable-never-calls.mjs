export default () => ({ then() {} })
