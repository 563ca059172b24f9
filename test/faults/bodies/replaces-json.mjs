export default () => {
  JSON.stringify = JSON.parse = () => 'forged'
  return { y: 1 }
}
