export default () => {
  for (let n = 0; n < 200; n++) setTimeout(() => Promise.reject(new Error('mine')), n)
  return { y: 1 }
}
