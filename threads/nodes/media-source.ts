/** Where pictures or sound come from, as a setting `source` names it. */
export type MediaSource =
  /** A picture or a tone that ffmpeg makes. */
  | { readonly kind: 'test' }
  /** As it was written: a relative path begins at the folder that holds the data directory. */
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'http' | 'rtsp'; readonly url: string }
  /** A V4L2 device file, or the name of an ALSA device. */
  | { readonly kind: 'device'; readonly device: string }

const VIDEO_DEVICE = /^\/dev\/(?:video\d{1,3}|v4l\/by-(?:id|path)\/[\w.:@+-]+)$/
/** No others: some plugins of ALSA write files, or run programs. */
const SOUND_DEVICE = /^(?:default|pulse|pipewire|(?:sysdefault|hw|plughw|dsnoop)(?::[\w=,-]+)?)$/
const SCHEME = /^[a-z][a-z0-9+.-]*[:,]/i

/**
 * Reads a source; a text is why it is none. What could be a protocol of ffmpeg (`concat:`, `pipe:`, `subfile,,`) is never taken for a path: a path has a
 * slash before any colon or comma, so that no name becomes a path by accident.
 */
export function mediaSource(text: string, medium: 'video' | 'audio'): MediaSource | string {
  if (text === 'test') return { kind: 'test' }
  if (/^https?:/i.test(text)) return urlSource(text, 'http')
  if (/^rtsps?:/i.test(text)) return urlSource(text, 'rtsp')
  const device = medium === 'video' ? VIDEO_DEVICE : SOUND_DEVICE
  if (device.test(text)) return { kind: 'device', device: text }
  if (!text.includes('/') || SCHEME.test(text) || text.includes('\0'))
    return `"${text}" is not a source; ${expected(medium)}`
  if (/^\/(?:dev|proc|sys)\//.test(text)) return `"${text}" is not a file; ${expected(medium)}`
  return { kind: 'file', path: text }
}

export function namesFile(text: string, medium: 'video' | 'audio'): boolean {
  const source = mediaSource(text, medium)
  return typeof source !== 'string' && source.kind === 'file'
}

function urlSource(text: string, kind: 'http' | 'rtsp'): MediaSource | string {
  if (!/^[a-z]+:\/\//i.test(text) || !URL.canParse(text)) return `"${text}" is not an address`
  const { username, password, href } = new URL(text)
  if (username !== '' || password !== '')
    return 'an address must not hold a user or a password; put them into "user" and "password"'
  return { kind, url: href }
}

const expected = (medium: 'video' | 'audio'): string =>
  `expected the path of a file with a slash in it (./name), an http, https, rtsp or rtsps address, ${
    medium === 'video' ? 'a device such as /dev/video0' : 'an ALSA device such as default or hw:0'
  }, or test`
