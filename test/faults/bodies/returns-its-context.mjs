export default (_, ctx) => ({ y: ctx })
