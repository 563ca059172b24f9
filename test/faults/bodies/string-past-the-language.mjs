export default () => ({ y: 'x'.repeat(2 ** 30) })
