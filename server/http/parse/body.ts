import { notJson, textOf } from '../../../core/large-json.ts'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import { decodeForm } from './query.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** One JSON document from bytes. Throws `malformed_json` or `too_deep`. The bytes are not kept. */
export function parseJson(bytes: Uint8Array): unknown {
  const text = textOf(bytes)
  if (text === null) throw new ServiceError('malformed_json', 'The body is not UTF-8.')
  if (bytes.length > limits.JSON_DEPTH && isTooDeep(bytes))
    throw new ServiceError('too_deep', `The body is nested deeper than ${limits.JSON_DEPTH} levels.`)
  try {
    return JSON.parse(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw notJson(error.message, bytes.length === 0 ? 'The body is empty.' : undefined)
  }
}

/** Counts brackets outside strings, so that no parser ever recurses deeper than the bound. */
export function isTooDeep(bytes: Uint8Array): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (inString) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) inString = true
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > limits.JSON_DEPTH) return true
    } else if (byte === 0x7d || byte === 0x5d) depth--
  }
  return false
}

/** A form as an object of texts. Throws `validation` for members that are not UTF-8 or occur twice. */
export function parseForm(bytes: Uint8Array): Record<string, string> {
  const values: Record<string, string> = Object.create(null)
  const refuse = (loc: string, msg: string): never => {
    throw new ServiceError('validation', 'The form was refused.', { errors: [{ loc, msg }] })
  }
  const text = textOf(bytes)
  if (text === null) return refuse('body', 'is not UTF-8')
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decodeForm(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? '' : decodeForm(pair.slice(equals + 1))
    if (name === null || value === null) return refuse('body', 'is not percent-encoded UTF-8')
    if (name in values) refuse(`body.${name}`, 'is given twice')
    values[name] = value
  }
  return { ...values }
}

const mediaOf = (content_type: string): string => content_type.split(';', 1)[0]!.trim().toLowerCase()
export const isForm = (content_type: string): boolean => mediaOf(content_type) === 'application/x-www-form-urlencoded'
export const isJson = (content_type: string): boolean => mediaOf(content_type) === 'application/json'
