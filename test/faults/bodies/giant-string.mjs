export default () => ({ y: 'x'.repeat(2 ** 25) })
