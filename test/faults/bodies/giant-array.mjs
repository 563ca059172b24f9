export default () => ({ y: new Array(300_000).fill(123456) })
