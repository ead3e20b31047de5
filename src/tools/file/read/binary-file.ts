import { extname } from "node:path"

/** The kind of binary file by its extension, or undefined for text. */
export function binaryKind(path: string): string | undefined {
  const extension = extname(path).slice(1).toLowerCase()
  for (const [kind, extensions] of BINARY_EXTENSIONS) {
    if (extensions.has(extension)) return kind
  }
  return undefined
}

export function isImage(path: string): boolean {
  return binaryKind(path) === "image"
}

/** Whether more than 30 % of the beginning are control characters. */
export function looksBinary(text: string): boolean {
  const sample = text.slice(0, 1000)
  if (sample === "") return false
  let odd = 0
  for (let index = 0; index < sample.length; index += 1) {
    const code = sample.charCodeAt(index)
    if ((code < 32 && code !== 9 && code !== 10 && code !== 13) || code === 0xff_fd) odd += 1
  }
  return odd / sample.length > 0.3
}

const BINARY_EXTENSIONS: readonly (readonly [string, ReadonlySet<string>])[] = [
  ["image", words("png jpg jpeg gif bmp ico webp tiff tif")],
  ["video", words("mp4 mov avi mkv webm wmv flv m4v mpeg mpg")],
  ["audio", words("mp3 wav ogg flac aac m4a wma aiff opus")],
  ["archive", words("zip tar gz bz2 7z rar xz z tgz iso")],
  ["program", words("exe dll so dylib bin o a obj lib app msi deb rpm")],
  ["document", words("doc docx xls xlsx ppt pptx odt ods odp")],
  ["font", words("ttf otf woff woff2 eot")],
  ["bytecode", words("pyc pyo class jar war ear node wasm rlib")],
  ["database", words("sqlite sqlite3 db mdb idx")],
  ["design file", words("psd ai eps sketch fig xd blend 3ds max swf fla")],
  ["data", words("lockb dat data")],
]

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(" "))
}
