export default () => 7
