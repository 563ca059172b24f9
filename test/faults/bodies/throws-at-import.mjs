export default () => ({ y: 1 })
throw { get message() { throw 1 } }
