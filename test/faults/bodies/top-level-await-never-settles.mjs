await new Promise(() => setInterval(() => {}, 1000))
export default () => ({ y: 1 })
