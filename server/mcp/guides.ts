import { readFile } from 'node:fs/promises'
import { infoOf } from '../../threads/nodes/node-type-info.ts'
import { NODE_TYPES } from '../../threads/nodes/types/index.ts'

const DOCS = new URL('../../docs/', import.meta.url)

/** Pages of the documentation that help to write a flow. */
export const GUIDES = ['flow-document', 'bodies', 'runs', 'flow-control', 'resources', 'media', 'history'] as const
export type Guide = (typeof GUIDES)[number]

export const guide = (name: Guide): Promise<string> => readFile(new URL(`${name}.md`, DOCS), 'utf8')

/** The settings and ports of a type of node, and its page; null: there is no such type. */
export async function nodeTypeGuide(name: string): Promise<string | null> {
  const type = NODE_TYPES.find(one => one.name === name)
  if (type === undefined) return null
  const page = await readFile(new URL(`nodes/${type.name}.md`, DOCS), 'utf8').catch(() => '')
  return `${page}\n\nSettings and ports as JSON:\n${JSON.stringify(infoOf(type))}\n`
}
