export default function* () {
  for (let n = 0; ; n++) yield { y: n }
}
