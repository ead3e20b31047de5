import type { Call, Field } from "./interpreter.ts"
import { optionValue } from "./nested/unwrap.ts"
import { filePath, rememberCopy } from "./redirections.ts"
import { knownWord } from "./scope.ts"
import type { Scope } from "./scope.ts"

/** Where the programs of the system are. */
export const PROGRAM_PATH = /^\/(?:usr\/)?(?:local\/)?s?bin\/[^/]+$/u

/** After `cp /bin/rm x` the name x stands for that program. */
export function rememberCopies(name: string, program: string, call: Call): void {
  const { scope } = call.frame
  for (const target of TARGETS.get(name)?.(call) ?? optionTargets(call)) {
    rememberCopy(target, program, scope)
    // The target may be a directory.
    const base = program.slice(program.lastIndexOf("/"))
    if (target.known) rememberCopy({ ...target, text: `${target.text}${base}` }, program, scope)
  }
}

/** The program that a command reads: a file in its words or its input, which it may pass on. */
export function copiedProgram({ argv, frame }: Call): string | undefined {
  const { scope, input } = frame
  if (input.copies !== undefined) return input.copies
  const file = input.from?.kind === "file" ? programAt(input.from.path, scope) : undefined
  if (file !== undefined) return file
  for (const word of argv.slice(1)) {
    const found = programAt(word, scope)
    if (found !== undefined) return found
  }
  return undefined
}

function programAt(word: Field, scope: Scope): string | undefined {
  const text = word.text.replace(PREFIX, "")
  if (text === "" || !word.known) return undefined
  // Most words are neither absolute nor the name of a copy.
  const path = text.startsWith("/") || scope.copies.size > 0 ? filePath({ ...word, text }, scope) : undefined
  if (path === undefined) return inSystemDirectory(text, scope)
  return PROGRAM_PATH.test(path) ? path : scope.copies.get(path)
}

/** `cd /bin && cp rm ~/x` */
function inSystemDirectory(text: string, { directories: [directory] }: Scope): string | undefined {
  const path = directory?.endsWith("bin") === true ? `${directory}/${text.replace(/^\.\//u, "")}` : undefined
  return path !== undefined && PROGRAM_PATH.test(path) ? path : undefined
}

/** `if=/bin/rm`, `file:///bin/rm`, `FILE:/bin/rm` */
const PREFIX = /^(?:(?:if|of)=|(?:file:\/\/|(?:FILE|OPEN|GOPEN|CREATE):)(?=\/))/iu

type Targets = (call: Call) => readonly Field[]

const operandsOf = ({ argv }: Call): readonly Field[] => argv.slice(1).filter(({ text }) => !text.startsWith("-"))
const lastOperand: Targets = (call) => {
  const given = optionValue(call.argv, ["-t", "--target-directory"])
  const operands = operandsOf(call)
  return given === undefined ? operands.slice(1).slice(-1) : [given.word]
}
const assigned =
  (pattern: RegExp): Targets =>
  ({ argv }) =>
    argv.flatMap((word) => {
      const text = pattern.exec(word.text)?.[1]
      return text === undefined ? [] : { ...word, text }
    })
/** `ln /bin/rm` makes a file of the same name in the working directory. */
const linked: Targets = (call) => {
  const operands = operandsOf(call)
  return operands.length === 1 ? [knownWord(".")] : lastOperand(call)
}
const archive: Targets = ({ argv }) => {
  const given = optionValue(argv, ["-f", "--file"])
  // `tar cf archive`
  return given === undefined ? argv.slice(2, 3) : [given.word]
}
const optionTargets: Targets = ({ argv }) => {
  const given = optionValue(argv, ["-out", "-o", "--output", "-O", "--outfile", "--output-file"])
  return given === undefined ? [] : [given.word]
}

const DECOMPRESSORS = "gunzip gzip unxz xz bunzip2 bzip2 unzstd zstd unlzma lzma uncompress".split(" ")
/** They replace a file by one without the extension. */
const withoutExtension: Targets = (call) => [
  ...operandsOf(call).map((word) => ({ ...word, text: word.text.replace(/\.\w+$/u, "") })),
  ...optionTargets(call),
]

const TARGETS: ReadonlyMap<string, Targets> = new Map<string, Targets>([
  ...["cp", "gcp", "mv", "install", "link", "rsync", "scp", "cmake", "ditto"].map(
    (name) => [name, lastOperand] as const,
  ),
  ["ln", linked],
  // What is taken out of an archive later may be the program.
  ...["zip", "7z", "7za", "ar"].map((name) => [name, operandsOf] as const),
  ...["tar", "gtar", "bsdtar"].map((name) => [name, archive] as const),
  ["objcopy", lastOperand],
  ["llvm-objcopy", lastOperand],
  ...DECOMPRESSORS.map((name) => [name, withoutExtension] as const),
  ["split", (call) => lastOperand(call).map((word) => ({ ...word, text: `${word.text}aa` }))],
  ["tee", operandsOf],
  ["sponge", operandsOf],
  ["dd", assigned(/^of=(.+)$/su)],
  ["socat", assigned(/^(?:CREATE|OPEN|GOPEN|FILE):([^,]+)/iu)],
])
