const deeper = n => deeper(n + 1) + 1
export default () => ({ y: deeper(0) })
