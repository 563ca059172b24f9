export default () => ({ y: /^(a+)+$/.test(`${'a'.repeat(40)}!`) })
