export default ({ x ) => ({ y: x })
