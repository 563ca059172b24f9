/** The task of the floor of `calls`. */
export default async function task({ x }: { x: number }): Promise<{ x: number }> {
  return { x }
}
