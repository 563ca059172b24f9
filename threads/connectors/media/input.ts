import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { limits } from '../../../protocol/limits.ts'
import type { MediaSource } from '../../nodes/media-source.ts'
import type { ConnectorHost } from '../connector.ts'
import { AddressRefused, type Reach } from '../reach.ts'

export interface Credentials {
  readonly user?: unknown
  readonly password?: unknown
}

/** The source of a capture, as ffmpeg opens it. */
export class MediaInput {
  readonly #source: MediaSource
  readonly #loop: boolean
  /** With credentials. */
  readonly #url: string | null = null
  readonly #secrets: readonly string[]
  readonly #reach: Pick<Reach, 'assertHost' | 'lookup'>
  /** For messages: without credentials, and without the query of an address, which may hold some. */
  readonly shown: string

  constructor(
    source: MediaSource,
    { user = '', password = '' }: Credentials,
    loop: boolean,
    { folder, reach }: Pick<ConnectorHost, 'folder' | 'reach'>,
  ) {
    this.#reach = reach
    this.#loop = loop
    this.#source = source.kind === 'file' ? { kind: 'file', path: resolve(folder, source.path) } : source
    this.shown = shownOf(this.#source)
    this.#secrets = [String(user), String(password)]
      .flatMap(secret => [secret, encoded(secret)])
      .filter(secret => secret !== '')
    if (source.kind !== 'http' && source.kind !== 'rtsp') return
    const url = new URL(source.url)
    // The setters of a URL leave some characters as they are that ffmpeg takes for the end of the user.
    const who = user === '' && password === '' ? '' : `${encoded(String(user))}:${encoded(String(password))}@`
    this.#url = source.url.replace(`${url.protocol}//`, `${url.protocol}//${who}`)
  }

  /** What makes it another input: credentials too. Never shown. */
  get key(): string {
    return JSON.stringify([this.#source, this.#url, this.#loop])
  }

  /** A file that is played once: its end is no fault. */
  get ends(): boolean {
    return this.#source.kind === 'file' && !this.#loop
  }

  /** Why there is no use in starting ffmpeg; null when there is. */
  async fault(): Promise<string | null> {
    if (this.#url !== null) return this.#refusal(new URL(this.#url).hostname)
    if (this.#source.kind !== 'file') return null
    try {
      return (await stat(this.#source.path)).isFile() ? null : 'it is not a file'
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      return code === 'ENOENT' || code === 'ENOTDIR' ? 'there is no such file' : `it cannot be read: ${code}`
    }
  }

  /**
   * Why the host may not be reached. ffmpeg looks a name up by itself afterwards: whoever changes what a name points to in between gets
   * one request there, whose answer is no picture.
   */
  async #refusal(host: string): Promise<string | null> {
    try {
      this.#reach.assertHost(host)
      if (host.startsWith('[')) return null
      return await new Promise(resolve =>
        // What else fails is found by ffmpeg, too, and it says why.
        this.#reach.lookup(host, {}, error => resolve(error instanceof AddressRefused ? error.message : null)),
      )
    } catch (error) {
      if (error instanceof AddressRefused) return error.message
      throw error
    }
  }

  /** `test`: what ffmpeg makes for a test; `device`: how it opens a device. Only the protocols that the source needs are allowed. */
  words(test: string, device: readonly string[]): string[] {
    const patience_us = String(limits.MEDIA_READ_TIMEOUT_MS * 1000)
    switch (this.#source.kind) {
      case 'test':
        return ['-protocol_whitelist', 'file', '-re', '-f', 'lavfi', '-i', test]
      case 'file': {
        const again = this.#loop ? ['-stream_loop', '-1'] : []
        return ['-protocol_whitelist', 'file', '-re', ...again, '-i', `file:${this.#source.path}`]
      }
      case 'http':
        // A redirect may lead to an address that connectors may not reach.
        return [
          ...['-protocol_whitelist', 'http,https,tcp,tls', '-max_redirects', '0'],
          ...['-rw_timeout', patience_us, '-i', this.#url!],
        ]
      case 'rtsp':
        return [
          ...['-protocol_whitelist', 'rtp,tcp,tls', '-rtsp_transport', 'tcp'],
          ...['-timeout', patience_us, '-i', this.#url!],
        ]
      case 'device':
        return [...device, '-i', this.#source.device]
    }
  }

  get kind(): MediaSource['kind'] {
    return this.#source.kind
  }

  /** The text without credentials. */
  masked(text: string): string {
    let masked = this.#source.kind === 'file' ? text.replace(/^file:/, '') : text
    if (this.#url !== null) masked = masked.replaceAll(this.#url, this.shown)
    masked = masked.replace(/\/\/[^/\s]*@/g, '//')
    for (const secret of this.#secrets) masked = masked.replaceAll(secret, '***')
    return masked
  }
}

const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, mark => `%${mark.charCodeAt(0).toString(16)}`)

function shownOf(source: MediaSource): string {
  switch (source.kind) {
    case 'test':
      return 'the test source'
    case 'file':
      return source.path
    case 'device':
      return source.device
    default:
      return source.url.replace(/[?#].*$/s, '')
  }
}
