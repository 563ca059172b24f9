export default async function* () {
  try {
    for (let n = 0; ; n++) yield { y: n }
  } finally {
    throw new Error('not yet')
  }
}
