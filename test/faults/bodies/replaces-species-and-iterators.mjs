export default () => {
  Array.prototype.constructor = class {}
  Promise.prototype.then = undefined
  Array.prototype[Symbol.iterator] = function* () {}
  Map.prototype[Symbol.iterator] = function* () {}
  RegExp.prototype.exec = () => null
  Error.prepareStackTrace = () => {
    throw 1
  }
  return { y: 1 }
}
