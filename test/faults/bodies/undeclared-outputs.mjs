export default () => ({ y: 1, other: 2 })
