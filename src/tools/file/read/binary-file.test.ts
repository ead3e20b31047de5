import { expect, test } from "vitest"
import { binaryKind, isImage, looksBinary } from "./binary-file.ts"

const EXTENSIONS: Readonly<Record<string, string>> = {
  image: "png jpg jpeg gif bmp ico webp tiff tif",
  video: "mp4 mov avi mkv webm wmv flv m4v mpeg mpg",
  audio: "mp3 wav ogg flac aac m4a wma aiff opus",
  archive: "zip tar gz bz2 7z rar xz z tgz iso",
  program: "exe dll so dylib bin o a obj lib app msi deb rpm",
  document: "doc docx xls xlsx ppt pptx odt ods odp",
  font: "ttf otf woff woff2 eot",
  bytecode: "pyc pyo class jar war ear node wasm rlib",
  database: "sqlite sqlite3 db mdb idx",
  "design file": "psd ai eps sketch fig xd blend 3ds max swf fla",
  data: "lockb dat data",
}

test.each(Object.entries(EXTENSIONS))("%s files are known by their extension", (kind, extensions) => {
  for (const extension of extensions.split(" ")) expect(binaryKind(`/x/f.${extension.toUpperCase()}`)).toBe(kind)
})

test.each(["a.pdf", "a.ts", "a.txt", "png", ".png", "a.png.txt", "Makefile"])(
  "%s is not binary by its name",
  (name) => {
    expect([binaryKind(name), isImage(name)]).toEqual([undefined, false])
  },
)

test.each([
  ["", false],
  ["plain\ttext\r\n", false],
  [`${"\0".repeat(30)}${"a".repeat(70)}`, false],
  [`${"\0".repeat(31)}${"a".repeat(69)}`, true],
  ["a".repeat(1000) + "\0".repeat(5000), false],
])("text with control characters (%#) looks binary: %s", (text, expected) => {
  expect(looksBinary(text)).toBe(expected)
})
