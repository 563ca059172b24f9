/** The dtypes and how they go together, without their schema: node code that imports the SDK loads no validator. */

export const DTYPES = ['bool', 'int', 'float', 'str', 'json', 'image', 'audio', 'video', 'artifact'] as const
type Dtype = (typeof DTYPES)[number]

const REFERENCES: readonly Dtype[] = ['image', 'audio', 'video', 'artifact']

/** May a message of dtype `source` be read at a port of dtype `target`? Equal; int to float; references to artifact; anything to json. */
export function agrees(source: Dtype, target: Dtype): boolean {
  if (source === target || target === 'json') return true
  if (source === 'int') return target === 'float'
  return target === 'artifact' && REFERENCES.includes(source)
}
