import type { ShellWord } from "../shell/understood-command.ts"
import { absolutePath } from "./command-paths.ts"
import { hasFlag, optionValues, packedValues, programName, upstream } from "./invocation.ts"
import type { Invocation } from "./invocation.ts"

/** What a command unpacks, and where. */
export interface Unpacking {
  readonly archives: readonly ShellWord[]
  /** Undefined when the directory is not known. */
  readonly to: string | undefined
  /** The directory is an operand or an option, in contrast to the one that the command runs in. */
  readonly hasTarget: boolean
  /** The archive contains another one with the files, so that reading its names says nothing. */
  readonly isNested?: true
  /** Directories at the start of the names are left out. */
  readonly strips?: true
}

export const TAR_PROGRAMS: ReadonlySet<string> = new Set(["tar", "gtar", "bsdtar", "jar"])

/** What a command unpacks; undefined for one that lists or packs. */
export function unpacking(call: Invocation): Unpacking | undefined {
  return UNPACKERS.get(call.program)?.(call)
}

type Unpacker = (call: Invocation) => Unpacking | undefined

function into(call: Invocation, archives: readonly ShellWord[], target: ShellWord | undefined): Unpacking {
  const { directory } = call.command
  const to = target === undefined ? directory : absolutePath(target, directory)
  return { archives, to, hasTarget: target !== undefined }
}

const tar: Unpacker = (call) => {
  const first = call.words[0]?.text ?? ""
  const bundle = /^[a-zA-Z]+$/u.test(first) ? first : ""
  const letters = [bundle, ...call.flags.filter((flag) => /^-[a-zA-Z]/u.test(flag))].join("")
  if (!letters.includes("x") && !hasFlag(call, /^--(?:extract|get)$/u)) return undefined
  const [target] = optionValues(call, "-C", "--directory", "--one-top-level")
  const strips = optionValues(call, "--strip-components", "--strip").length > 0
  return { ...into(call, tarFiles(call, bundle), target), ...(strips ? { strips } : {}) }
}

function tarFiles(call: Invocation, bundle: string): readonly ShellWord[] {
  const named = optionValues(call, "-f", "--file")
  const packed = call.words.flatMap((word, index) =>
    /^-[a-zA-Z]*f$/u.test(word.text) ? (call.words[index + 1] ?? []) : [],
  )
  const bundled = bundle.includes("f") ? call.words.slice(1, 2) : []
  const files = [...new Set([...named, ...packed, ...bundled])].filter(({ text }) => text !== "-")
  return files.length > 0 ? files : inputFiles(call)
}

/** The file that is redirected to a command, or that others in its pipeline print. */
export function inputFiles(call: Invocation): readonly ShellWord[] {
  const { input } = call.command
  if (input?.kind === "file") return [input.path]
  return upstream(call.command, call.understood).flatMap(({ program = "", argv, input: read }) => {
    if (!PRINTING.has(programName(program))) return []
    const operands = argv.slice(1).filter(({ text }) => !text.startsWith("-"))
    return [...operands, ...(read?.kind === "file" ? [read.path] : [])]
  })
}

/** Programs that print what is in a file in another form: decompressed, decoded or decrypted. */
export const DECODING: ReadonlySet<string> = new Set(
  (
    "zcat gzcat gunzip gzip pigz unpigz xz xzcat unxz lzma unlzma bzip2 bzcat bunzip2 pbzip2 zstd zstdcat unzstd lz4 lz4cat lzip lzop brotli " +
    "base64 base32 basenc uudecode xxd openssl gpg age rpm2cpio"
  ).split(" "),
)
const PRINTING: ReadonlySet<string> = new Set([...DECODING, "cat", "pv", "dd", "tail", "head"])

const unzip: Unpacker = (call) => {
  if (hasFlag(call, /^-[a-zA-Z]*[ltvpZ]/u)) return undefined
  const [target] = optionValues(call, "-d")
  // `unzip a` looks for `a.zip` too.
  const archives = call.operands.slice(0, 1).flatMap((word) => [word, { ...word, text: `${word.text}.zip` }])
  return into(call, archives, target)
}

/** `7z x ARCHIVE -oDIRECTORY` */
const sevenZip: Unpacker = (call) => {
  if (!/^[xe]$/u.test(call.operands[0]?.text ?? "")) return undefined
  return into(call, call.operands.slice(1, 2), optionValues(call, "-o")[0])
}

/** `unrar x ARCHIVE DIRECTORY/` */
const unrar: Unpacker = (call) => {
  const [action, archive, ...rest] = call.operands
  if (!/^[xe]$/u.test(action?.text ?? "") || archive === undefined) return undefined
  return into(call, [archive], optionValues(call, "-op")[0] ?? rest.find(({ text }) => text.endsWith("/")))
}

const unar: Unpacker = (call) => {
  const [target] = optionValues(call, "-o", "-output-directory")
  return into(call, call.operands.filter((word) => word !== target).slice(0, 1), target)
}

const ar: Unpacker = (call) => {
  const [letters, ...rest] = call.words
  if (!/^-?[a-zA-Z]*x/u.test(letters?.text ?? "")) return undefined
  return into(call, rest.filter(({ text }) => !text.startsWith("-")).slice(0, 1), optionValues(call, "--output")[0])
}

const cpio: Unpacker = (call) => {
  if (!hasFlag(call, /^-[a-zA-Z]*i|^--extract$/u) || hasFlag(call, /^-[a-zA-Z]*t|^--list$/u)) return undefined
  const named = [...optionValues(call, "--file"), ...packedValues(call, "FI")]
  return into(call, named.length > 0 ? named : inputFiles(call), optionValues(call, "-D", "--directory")[0])
}

const pax: Unpacker = (call) => {
  if (!hasFlag(call, /^-[a-zA-Z]*r/u) || hasFlag(call, /^-[a-zA-Z]*w/u)) return undefined
  const named = packedValues(call, "f")
  return into(call, named.length > 0 ? named : inputFiles(call), undefined)
}

/** `python3 -m zipfile -e ARCHIVE DIRECTORY` */
const python: Unpacker = (call) => {
  const [option, module, action, archive, target] = call.words
  if (option?.text !== "-m" || !/^(?:zipfile|tarfile)$/u.test(module?.text ?? "")) return undefined
  if (!/^(?:-e|--extract)$/u.test(action?.text ?? "") || archive === undefined) return undefined
  return into(call, [archive], target)
}

/** `dpkg-deb -x PACKAGE DIRECTORY` */
const dpkg: Unpacker = (call) => {
  if (!hasFlag(call, /^(?:-[xXR]|--(?:v?extract|raw-extract))$/u)) return undefined
  const [archive, target] = call.operands
  return archive === undefined ? undefined : { ...into(call, [archive], target), isNested: true }
}

/** Programs whose operands are the archives. */
const plain =
  (...targets: readonly string[]): Unpacker =>
  (call) => {
    const given = optionValues(call, ...targets)
    return into(call, call.operands.filter((word) => !given.includes(word)).slice(-1), given[0])
  }

/** `ditto -x -k ARCHIVE DIRECTORY` */
const ditto: Unpacker = (call) =>
  hasFlag(call, /^-[a-zA-Z]*x/u) ? into(call, call.operands.slice(0, 1), call.operands[1]) : undefined

const UNPACKERS: ReadonlyMap<string, Unpacker> = new Map<string, Unpacker>([
  ...[...TAR_PROGRAMS].map((name) => [name, tar] as const),
  ["unzip", unzip],
  ...["7z", "7za", "7zz", "7zr"].map((name) => [name, sevenZip] as const),
  ["unrar", unrar],
  ["rar", unrar],
  ["unar", unar],
  ...["ar", "gar", "llvm-ar"].map((name) => [name, ar] as const),
  ["cpio", cpio],
  ["bsdcpio", cpio],
  ["pax", pax],
  ...["python", "python2", "python3", "pypy3", "py"].map((name) => [name, python] as const),
  ["dpkg-deb", dpkg],
  ["dpkg", dpkg],
  ["cabextract", plain("-d", "--directory")],
  ["lha", plain()],
  ["ditto", ditto],
])

export const UNPACKING_PROGRAMS: readonly string[] = [...UNPACKERS.keys()]
