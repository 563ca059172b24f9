export default async () => {
  for (;;) await null
}
