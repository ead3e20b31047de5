import { posix } from "node:path"
import { readSedProgram, sedArguments } from "../shell/sed-program.ts"
import type { ShellWord } from "../shell/understood-command.ts"
import { unpacking } from "./archives.ts"
import { readAwkProgram } from "./awk-program.ts"
import { outputTargets } from "./command-paths.ts"
import { copiedNames } from "./copied-names.ts"
import { gitOutput } from "./git-output.ts"
import { hasFlag, optionValues, packedValues } from "./invocation.ts"
import type { Invocation } from "./invocation.ts"
import { patchedFiles } from "./patch-targets.ts"

/** How a command changes a file. The keys of 4.5 differ by it. */
export type WriteMethod =
  | "redirection"
  | "tee"
  | "copy"
  | "in-place edit"
  | "in-place edit (long flag)"
  | "in-place edit (perl/ruby)"
  | "hard link"
  | "other"
  | "delete"

export interface WrittenPath {
  readonly method: WriteMethod
  readonly word: ShellWord
  /** A name that results from copying into a directory. */
  readonly derived?: true
  /** A directory that is written with files whose names the command does not say. */
  readonly tree?: true
  /** Keeps what a file that exists contains, or writes into a directory. */
  readonly keeps?: true
}

/** The files that a command writes, replaces or deletes, as far as its arguments name them. */
export function writtenPaths(call: Invocation): readonly WrittenPath[] {
  const redirected = call.isWrapper
    ? []
    : outputTargets(call.command).map((word): WrittenPath => ({
        method: "redirection",
        word,
        ...(appends(word, call) ? KEEPS : {}),
      }))
  if (call.isWrapper)
    return [...(LOGGING_WRAPPERS.has(call.program) ? commonOutput(call) : []), ...loggedTo(declaredIn(call))]
  return [
    ...redirected,
    ...loggedTo([...call.command.assignments, ...declaredIn(call)]),
    ...(WRITERS.get(call.program) ?? commonOutput)(call),
    ...unpackedInto(call),
    ...copiedNames(call).map((word): WrittenPath => ({ method: "copy", word, derived: true })),
  ]
}

const KEEPS = { keeps: true } as const

function appends(word: ShellWord, { command: { redirections } }: Invocation): boolean {
  return redirections.some(({ operator, target }) => target === word && (operator === ">>" || operator === "&>>"))
}

/** The directory that receives the files of an archive, where the command names one. */
function unpackedInto(call: Invocation): readonly WrittenPath[] {
  const found = unpacking(call)
  if (found?.to === undefined || !found.hasTarget) return []
  return [{ method: "other", word: { text: found.to, known: true, pattern: false }, tree: true }]
}

interface Variable {
  readonly name: string
  readonly value: ShellWord
}

/** Variables that name a file in which programs write. */
const loggedTo = (variables: readonly Variable[]): readonly WrittenPath[] =>
  variables.flatMap(({ name, value }) => (LOG_VARIABLE.test(name) ? [{ method: "other", word: value }] : []))

function declaredIn(call: Invocation): readonly Variable[] {
  if (!DECLARING.has(call.program)) return []
  return call.words.flatMap((word) => {
    const parts = /^(\w+)=(.*)$/su.exec(word.text)
    return parts === null ? [] : { name: parts[1] ?? "", value: { ...word, text: parts[2] ?? "" } }
  })
}

const DECLARING: ReadonlySet<string> = new Set(["env", "export", "declare", "typeset", "readonly"])
/** `GIT_TRACE=1` and `GIT_TRACE=true` are names of files that nothing protects. */
const LOG_VARIABLE =
  /^(?:GIT_TRACE\w*|SSLKEYLOGFILE|LESSHISTFILE|MYSQL_HISTFILE|PSQL_HISTORY|SQLITE_HISTORY|NODE_REPL_HISTORY|NODE_REDIRECT_WARNINGS|PYTHON_HISTORY|MALLOC_TRACE|LD_DEBUG_OUTPUT|COVERAGE_FILE|npm_config_logs_dir)$/iu

/** Most programs write to the file of `-o`. A word behind it that is no file names none of the protected ones. */
const commonOutput: Writer = (call) =>
  NO_OUTPUT.has(call.program) || !call.words.some(({ text }) => text.startsWith("-"))
    ? []
    : [...optionValues(call, ...OUTPUT_OPTIONS), ...packedValues(call, "oO")].map((word) => ({ method: "other", word }))

const OUTPUT_OPTIONS: readonly string[] =
  "--output --out --outfile --output-file --out-file --output-dir --out-dir --outdir --output-directory --target --destination --log-file --logfile".split(
    " ",
  )

/** Programs that start another one and write about it. */
const LOGGING_WRAPPERS: ReadonlySet<string> = new Set(["strace", "ltrace", "valgrind", "perf", "gtime", "time"])

/** Programs in which `-o` is something else, and which read the files that they name. */
const NO_OUTPUT: ReadonlySet<string> = new Set(
  "ls dir vdir grep egrep fgrep zgrep rg ag ack ps stat lsof ssh sftp ssh-add ssh-copy-id set shopt declare export mount ip docker podman kubectl id du df cat bat head tail wc file diff cmp column comm od nl ss nmap".split(
    " ",
  ),
)

type Writer = (call: Invocation) => readonly WrittenPath[]

const as =
  (method: WriteMethod, words: (call: Invocation) => readonly ShellWord[]): Writer =>
  (call) =>
    words(call).map((word) => ({ method, word }))
const all =
  (...writers: readonly Writer[]): Writer =>
  (call) =>
    writers.flatMap((write) => write(call))
const operands = (call: Invocation): readonly ShellWord[] => call.operands
const last = (call: Invocation): readonly ShellWord[] => call.operands.slice(-1)
const options =
  (...names: readonly string[]) =>
  (call: Invocation): readonly ShellWord[] => [
    ...optionValues(call, ...names),
    ...packedValues(call, names.flatMap((name) => (/^-[A-Za-z]$/u.test(name) ? [name.slice(1)] : [])).join("")),
  ]
const assigned =
  (name: string) =>
  (call: Invocation): readonly ShellWord[] =>
    call.words
      .filter(({ text }) => text.startsWith(`${name}=`))
      .map((word) => ({ ...word, text: word.text.slice(name.length + 1) }))
/** The words after each of some options of `find`. */
const following =
  (pattern: RegExp) =>
  (call: Invocation): readonly ShellWord[] =>
    call.words.flatMap((word, index) => (pattern.test(word.text) ? (call.words[index + 1] ?? []) : []))

/** cp, mv, install, ln: the last operand, or a name in it when it is a directory. */
const copies: Writer = (call) => {
  const directories = options("-t", "--target-directory")(call)
  const targets = directories.length > 0 ? directories : call.operands.length > 1 ? last(call) : []
  const sources =
    directories.length > 0 ? call.operands.filter((word) => !directories.includes(word)) : call.operands.slice(0, -1)
  const isTree = copiesTree(call, sources) ? { tree: true as const } : {}
  const isDirectory = (target: ShellWord): boolean =>
    directories.length > 0 || sources.length > 1 || /(?:^|\/)\.{0,2}$/u.test(target.text)
  const isKept = hasFlag(call, /^-[a-zA-Z]*[nu]|^--(?:no-clobber|update|backup)/u) || NEVER_REPLACES.has(call.program)
  return targets.flatMap((target) => [
    { method: "copy" as const, word: target, ...isTree, ...(isKept || isDirectory(target) ? KEEPS : {}) },
    ...sources.map((source) => ({
      method: "copy" as const,
      derived: true as const,
      ...KEEPS,
      ...isTree,
      word: { ...target, text: `${target.text}/${posix.basename(source.text)}`, known: target.known && source.known },
    })),
  ])
}

/** Links are not made over files, and the others compare before they copy. */
const NEVER_REPLACES: ReadonlySet<string> = new Set(["ln", "link", "rsync", "scp", "git"])

/** Whether whole directories are copied, moved or linked. A name with an extension is usually a file. */
function copiesTree(call: Invocation, sources: readonly ShellWord[]): boolean {
  if (/^(?:mv|ln|git)$/u.test(call.program))
    return sources.some(({ text }) => posix.extname(posix.basename(text)) === "")
  return hasFlag(call, /^-[a-zA-Z]*[rRa]|^--(?:recursive|archive)$/u)
}

/** A hard link is another name of the same file: what is written through it changes the source. */
const hardLinked: Writer = (call) => {
  const isLinking = call.program.endsWith("cp") ? hasFlag(call, /^-[a-zA-Z]*l|^--link$/u) : !hasFlag(call, SYMBOLIC)
  if (!isLinking) return []
  const hasDirectory = optionValues(call, "-t", "--target-directory").length > 0
  const sources = hasDirectory || call.operands.length === 1 ? call.operands : call.operands.slice(0, -1)
  return sources.map((word) => ({ method: "hard link", word }))
}

const SYMBOLIC = /^-[a-zA-Z]*s|^--symbolic$/u

const movedAway: Writer = (call) => call.operands.slice(0, -1).map((word) => ({ method: "delete", word }))

const sed: Writer = (call) => {
  const { script, files } = sedArguments(call.words)
  const written: readonly WrittenPath[] =
    script?.text.toLowerCase().includes("w") === true
      ? readSedProgram(script).writes.map((text) => ({ method: "other", word: { ...script, text } }))
      : []
  const long = hasFlag(call, /^--in-place/u)
  if (!long && !hasFlag(call, /^-[a-zA-Z]*i/u)) return written
  return [
    ...written,
    ...files.map((word): WrittenPath => ({ method: long ? "in-place edit (long flag)" : "in-place edit", word })),
  ]
}

/** What the program prints to files. */
const awk: Writer = all(commonOutput, (call) => {
  const { writes, edits } = readAwkProgram(call.words, call.facts.userHome)
  return [
    ...writes.map((word): WrittenPath => ({ method: "other", word })),
    ...edits.map((word): WrittenPath => ({ method: "in-place edit", word })),
  ]
})

const perl: Writer = (call) =>
  hasFlag(call, /^-[a-zA-Z0-9]*i/u) ? call.operands.map((word) => ({ method: "in-place edit (perl/ruby)", word })) : []

/** The last part of a URL, as `wget URL` and `curl -O URL` name the file. */
const remoteNames = (call: Invocation): readonly ShellWord[] =>
  call.operands.flatMap((word) => {
    const name = /^\w+:\/\/[^/]+\/(?:[^?#]*\/)?([^/?#]+)/u.exec(word.text)?.[1]
    return name === undefined || !word.known ? [] : { ...word, text: name }
  })

export const curlOutput: Writer = all(
  as(
    "other",
    options(
      ..."-o --output -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --libcurl --etag-save --hsts --alt-svc --ssl-sessions".split(
        " ",
      ),
    ),
  ),
  // `-w '%output{FILE}'`
  (call) =>
    options(
      "-w",
      "--write-out",
    )(call).flatMap((word) =>
      Array.from(word.text.matchAll(/%output\{(?:>>)?([^}]+)\}/gu), ([, file = ""]) => ({
        method: "other" as const,
        word: { ...word, text: file },
      })),
    ),
  (call) => {
    if (!hasFlag(call, /^-[a-zA-Z#]*O|^--remote-name/u)) return []
    const names = remoteNames(call)
    const inDirectory = optionValues(call, "--output-dir").flatMap((directory) => [
      directory,
      ...names.map((name) => ({ ...directory, text: `${directory.text}/${name.text}` })),
    ])
    return [...names, ...inDirectory].map((word) => ({ method: "other", word }))
  },
)
export const wgetOutput: Writer = all(
  as(
    "other",
    options(
      ..."-O --output-document -o --output-file -a --append-output -P --directory-prefix --save-cookies --rejected-log --warc-file --hsts-file".split(
        " ",
      ),
    ),
  ),
  (call) => {
    if (optionValues(call, "-O", "--output-document").length > 0) return []
    const names = remoteNames(call)
    const inDirectory = options(
      "-P",
      "--directory-prefix",
    )(call).flatMap((directory) => names.map((name) => ({ ...directory, text: `${directory.text}/${name.text}` })))
    return [...names, ...inDirectory].map((word) => ({ method: "other", word }))
  },
)

const extractInto: Writer = (call) =>
  options("-C", "--directory", "-d", "--one-top-level")(call).map((word) => ({ method: "other", word, tree: true }))
const copyWriters: Writer = copies
const deletes = as("delete", operands)
const output = as("other", options("-o", "--output", "-out", "--out"))

/** The files of `.output`, `.backup` and other commands of sqlite3. */
function sqliteOutput(call: Invocation): readonly ShellWord[] {
  return call.words.flatMap((word) => {
    const file = /^\s*\.(?:output|once|backup|save|log|clone)\s+(?:main\s+)?['"]?([^'"|\s]+)/u.exec(word.text)?.[1]
    return file === undefined || file === "stdout" || file === "off" ? [] : { ...word, text: file }
  })
}

/** What it unpacks to, and the archive that it writes. */
function sevenZipOutput(call: Invocation): readonly ShellWord[] {
  const [action, archive] = call.operands
  return [...options("-o")(call), ...(archive !== undefined && /^[aud]$/u.test(action?.text ?? "") ? [archive] : [])]
}

function containerOutput(call: Invocation): readonly ShellWord[] {
  return [...options("--iidfile", "--cidfile", "--metadata-file", "--pidfile")(call), ...copiedHere(call)]
}

/** The target of a copy from a container, a cluster or a cloud. */
function copiedHere(call: Invocation): readonly ShellWord[] {
  const isCopy = call.operands.some(({ text }, index) => index < 3 && /^(?:cp|mv|sync|scp|rsync)$/u.test(text))
  return [...(isCopy ? last(call) : []), ...options("-o", "--output", "--output-dir", "--outfile")(call)]
}

/** `git mv a b`. */
const gitMoves: Writer = (call) => {
  const [first, ...moved] = call.operands
  return first?.text === "mv" ? copyWriters({ ...call, operands: moved }) : []
}

/** The directory and the name in it are separate options. */
const aria2Output = (call: Invocation): readonly ShellWord[] => {
  const names = options("-o", "--out")(call)
  const directories = options("-d", "--dir")(call)
  return [
    ...names,
    ...directories,
    ...directories.flatMap((directory) =>
      names.map((name) => ({
        ...directory,
        text: `${directory.text}/${name.text}`,
        known: directory.known && name.known,
      })),
    ),
  ]
}

/** The parts of `s/old/new/`, and the words of the simpler kind of `rename`. */
function renamedTo(call: Invocation): readonly ShellWord[] {
  return call.operands.flatMap((word) => [word, ...word.text.split(/[/,#|]/u).map((text) => ({ ...word, text }))])
}

const tee: Writer = (call) =>
  call.operands.map((word) => ({
    method: "tee",
    word,
    ...(hasFlag(call, /^-[a-z]*a|^--append$/u) ? KEEPS : {}),
  }))

/** Compressors replace their files, unless they write to the standard output or keep them. */
const compressed: Writer = (call) =>
  hasFlag(call, /^-[a-zA-Z]*[cklt]|^--(?:stdout|to-stdout|keep|list|test)$/u) ||
  (call.program.includes("zst") && !hasFlag(call, /^--rm$/u))
    ? commonOutput(call)
    : [...commonOutput(call), ...call.operands.map((word): WrittenPath => ({ method: "delete", word }))]

const COMPRESSORS =
  "gzip gunzip pigz unpigz xz unxz lzma unlzma bzip2 bunzip2 lbzip2 compress uncompress lz4 lzip zstd unzstd brotli".split(
    " ",
  )

const WRITERS: ReadonlyMap<string, Writer> = new Map<string, Writer>([
  ["tee", tee],
  ["sponge", as("tee", operands)],
  ["cp", all(copyWriters, hardLinked)],
  ["gcp", all(copyWriters, hardLinked)],
  ["install", copyWriters],
  ["ln", all(copyWriters, hardLinked)],
  ["link", all(copyWriters, hardLinked)],
  ["rsync", copyWriters],
  ["scp", copyWriters],
  ["mv", all(copyWriters, movedAway)],
  ["awk", awk],
  ["gawk", awk],
  ["mawk", awk],
  ["nawk", awk],
  ["sed", sed],
  ["gsed", sed],
  ["perl", perl],
  ["ruby", perl],
  ["dd", as("other", assigned("of"))],
  ["truncate", as("other", operands)],
  ["fallocate", as("other", operands)],
  ["touch", as("other", operands)],
  [
    "patch",
    as("other", (call) => [...call.operands.slice(0, 1), ...options("-o", "--output")(call), ...patchedFiles(call)]),
  ],
  ["ed", as("other", operands)],
  ["ex", as("other", operands)],
  ["sort", output],
  ["split", as("other", last)],
  ["csplit", as("other", (call) => [...last(call), ...options("-f", "--prefix")(call)])],
  ["openssl", as("other", options("-out"))],
  ["gpg", as("other", options("-o", "--output"))],
  ["curl", curlOutput],
  ["wget", wgetOutput],
  ["tar", extractInto],
  ["gtar", extractInto],
  ["bsdtar", extractInto],
  ["unzip", extractInto],
  ["7z", as("other", sevenZipOutput)],
  ["7za", as("other", sevenZipOutput)],
  ["ssh", as("other", options("-E"))],
  ["docker", as("other", containerOutput)],
  ["podman", as("other", containerOutput)],
  ...["kubectl", "oc", "aws", "gsutil", "gcloud"].map((name): [string, Writer] => [name, as("other", copiedHere)]),
  ["sqlite3", as("other", sqliteOutput)],
  ["cpio", as("other", (call) => [...options("-D", "--directory")(call), ...last(call)])],
  ["find", as("other", following(/^-f(?:printf|print|print0|ls)$/u))],
  ["ffmpeg", as("other", last)],
  ["convert", as("other", last)],
  ["magick", as("other", last)],
  ["xxd", as("other", (call) => call.operands.slice(1, 2))],
  ["script", as("other", (call) => call.operands.slice(0, 1))],
  ["zip", as("other", (call) => call.operands.slice(0, 1))],
  ["tcpdump", as("other", options("-w"))],
  ["aria2c", as("other", aria2Output)],
  ["rm", deletes],
  ["unlink", deletes],
  ["shred", deletes],
  ["rmdir", deletes],
  ["crudini", as("other", (call) => call.operands.slice(1, 2))],
  ["yq", as("other", (call) => (hasFlag(call, /^-i|^--in-?place/u) ? call.operands.slice(1) : []))],
  ["git", all((call) => gitOutput(call).map((written) => ({ method: "other", ...written })), gitMoves)],
  ["uniq", as("other", (call) => call.operands.slice(1))],
  ["mkfifo", as("other", operands)],
  ["setfacl", as("other", last)],
  ["chattr", as("other", last)],
  ["rename", as("other", renamedTo)],
  ["prename", as("other", renamedTo)],
  ["mmv", as("other", operands)],
  ...COMPRESSORS.map((name): [string, Writer] => [name, compressed]),
  ["trash", deletes],
  ["trash-put", deletes],
])
