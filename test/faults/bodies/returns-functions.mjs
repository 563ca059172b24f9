export default () => ({ y: () => 1 })
