export default () => {
  for (let n = 0; n < 200; n++) setTimeout(() => fails(n), n)
  return { y: 1 }
}
function fails(n) {
  throw new Error(`mine ${n}`)
}
