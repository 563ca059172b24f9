export interface JpegHead {
  readonly width: number
  readonly height: number
  /** It has its Huffman tables. Some webcams leave them out, and then browsers cannot show it. */
  readonly has_tables: boolean
}

const START = 0xd8
const HUFFMAN = 0xc4
const SCAN = 0xda
/** Frames: C0 to CF but for tables (C4), a reserved one (C8) and arithmetic conditions (CC). */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== HUFFMAN && marker !== 0xc8 && marker !== 0xcc

/** What stands before the picture of a JPEG (ITU T.81, annex B). Null: it is none. Segments are passed by their length: a thumbnail inside one is not seen. */
export function jpegHead(bytes: Buffer): JpegHead | null {
  if (bytes.length < 4 || bytes[0] !== 0xff || bytes[1] !== START) return null
  let [width, height, has_tables] = [0, 0, false]
  for (let at = 2; at + 4 <= bytes.length; ) {
    if (bytes[at] !== 0xff) return null
    const marker = bytes[at + 1]!
    // Markers may have any number of FF before them.
    if (marker === 0xff) {
      at++
      continue
    }
    if (marker === SCAN) return width > 0 && height > 0 ? { width, height, has_tables } : null
    const length = bytes.readUInt16BE(at + 2)
    if (length < 2) return null
    if (marker === HUFFMAN) has_tables = true
    if (isFrame(marker) && length >= 8 && at + 9 <= bytes.length) {
      height = bytes.readUInt16BE(at + 5)
      width = bytes.readUInt16BE(at + 7)
    }
    at += 2 + length
  }
  return null
}
