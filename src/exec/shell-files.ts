import { posix } from "node:path"

import { randomHex } from "../base/random-and-hash.ts"
import { refuseNul } from "./refuse-nul.ts"
import { FILE_SCRIPT_PARTS, FILE_SCRIPTS } from "./shell-file-scripts.ts"
import type { FileScript } from "./shell-file-scripts.ts"
import { createLookups } from "./shell-lookups.ts"
import type { AskShell, LookupScript } from "./shell-lookups.ts"
import type { DirectoryEntry, FileFacts, FileSystem } from "./workspace.ts"

export interface ShellFilesOptions {
  readonly cwd: () => string
  readonly home: string
  readonly ask: AskShell
  /** How much input one call can carry. */
  readonly maxInputBytes: number
}

/** Files of a place where only a shell can look: each operation is one small script there, looks at the same moment are one together. */
export function createShellFiles(options: ShellFilesOptions): FileSystem {
  const resolve = (path: string): string => {
    if (path === "~" || path.startsWith("~/")) return posix.join(options.home, path.slice(1))
    return posix.isAbsolute(path) ? posix.normalize(path) : posix.resolve(options.cwd(), path)
  }
  const ask = async (
    script: Exclude<FileScript, LookupScript>,
    args: readonly string[],
    stdin?: Uint8Array,
  ): Promise<Buffer> => {
    for (const word of args) refuseNul(word)
    const answer = await options.ask(FILE_SCRIPT_PARTS + FILE_SCRIPTS[script], args, stdin)
    if (answer.failed) throw systemError(answer.stderr, args[0] ?? "")
    return answer.stdout
  }
  const lookups = createLookups(options.ask)
  const lookUp = async (script: LookupScript, path: string): Promise<string> => {
    refuseNul(path)
    const answer = await lookups(script, path)
    if (answer.failed) throw systemError(answer.stderr, path)
    return answer.stdout
  }
  let temporary: Promise<string> | undefined
  return {
    resolve,
    stat: async (path) => parseFacts(await lookUp("stat", resolve(path))),
    read: async (path) => await ask("read", [resolve(path)]),
    readRange: async (path, { start, length }) =>
      await ask("readRange", [resolve(path), String(start + 1), String(length)]),
    write: async (path, data) => {
      const target = resolve(path)
      const bytes = typeof data === "string" ? Buffer.from(data) : data
      const stage = `.hermes-${randomHex(8)}.tmp`
      const last = Math.max(0, Math.ceil(bytes.byteLength / options.maxInputBytes) - 1) * options.maxInputBytes
      const said: string[] = []
      for (let from = 0; from < last; from += options.maxInputBytes) {
        said.push(String(await ask("append", [target, stage], bytes.subarray(from, from + options.maxInputBytes))))
      }
      said.push(String(await ask("commit", [target, stage, String(bytes.byteLength)], bytes.subarray(last))))
      const [stored = "", created = ""] = (said.at(-1) ?? "").split("\n")
      const facts = parseFacts(stored)
      const createdDirectories = created === "created" || said.slice(0, -1).includes("created")
      return {
        bytes: bytes.byteLength,
        path: target,
        createdDirectories,
        ...(facts === undefined ? {} : { facts }),
      }
    },
    list: async (path) => parseEntries(await ask("list", [resolve(path)])),
    remove: async (path) => {
      await ask("remove", [resolve(path)])
    },
    rename: async (from, to) => {
      await ask("rename", [resolve(from), resolve(to)])
    },
    realPath: async (path) => posix.normalize(await lookUp("realPath", resolve(path))),
    look: async (path) => {
      const [facts, realPath] = cutLine(await lookUp("look", resolve(path)))
      return { realPath: posix.normalize(realPath), facts: parseFacts(facts) }
    },
    readWithFacts: async (path, maxBytes) => {
      const answer = await ask("readWithFacts", [resolve(path), String(maxBytes)])
      const end = answer.indexOf(10)
      const line = answer.subarray(0, end).toString("latin1")
      const facts = parseFacts(line)
      return line.endsWith("content") ? { facts, content: answer.subarray(end + 1) } : { facts }
    },
    temporaryDirectory: async () => {
      temporary ??= ask("temporaryDirectory", []).then((answer) => answer.toString("utf8"))
      return await temporary
    },
  }
}

function cutLine(text: string): readonly [string, string] {
  const end = text.indexOf("\n")
  return [text.slice(0, end), text.slice(end + 1)]
}

/** `stat` prints the raw mode in hexadecimal digits, the size and the time; nothing when there is no such file. */
function parseFacts(text: string): FileFacts | undefined {
  const [rawMode, size, modified] = text.trim().split(" ")
  if (rawMode === undefined || rawMode === "" || modified === undefined) return undefined
  const mode = Number.parseInt(rawMode, 16)
  return { kind: kindOf(mode), size: Number(size), modifiedMs: Number(modified) * 1000, mode: mode & 0o7777 }
}

function kindOf(mode: number): FileFacts["kind"] {
  const type = mode & 0o170000
  if (type === 0o100000) return "file"
  return type === 0o040000 ? "directory" : "other"
}

function parseEntries(answer: Buffer): readonly DirectoryEntry[] {
  const kinds = { f: "file", d: "directory", o: "other" } as const
  return answer
    .toString("utf8")
    .split("\0")
    .filter((entry) => entry !== "")
    .map((entry) => ({
      name: entry.slice(1),
      kind: entry.startsWith("f") ? kinds.f : entry.startsWith("d") ? kinds.d : kinds.o,
    }))
}

/** Tools decide by the code of a system error; a shell only has its words. */
function systemError(stderr: string, path: string): Error {
  const text = stderr.trim()
  const found = SYSTEM_WORDS.find(([words]) => text.toLowerCase().includes(words))
  if (found === undefined) return new Error(text === "" ? `${path} could not be used` : text)
  return Object.assign(new Error(`${found[1]}: ${found[0]}, '${path}'`), { code: found[1], path })
}

const SYSTEM_WORDS = [
  ["no such file or directory", "ENOENT"],
  ["not a directory", "ENOTDIR"],
  ["is a directory", "EISDIR"],
  ["permission denied", "EACCES"],
  ["operation not permitted", "EPERM"],
  ["read-only file system", "EROFS"],
  ["no space left on device", "ENOSPC"],
  ["disk quota exceeded", "EDQUOT"],
  ["file exists", "EEXIST"],
  ["file name too long", "ENAMETOOLONG"],
  ["too many levels of symbolic links", "ELOOP"],
  ["text file busy", "ETXTBSY"],
  ["device or resource busy", "EBUSY"],
  ["input/output error", "EIO"],
] as const
