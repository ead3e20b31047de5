import { posix } from "node:path"

import { lazy } from "../base/lazy.ts"
import { randomHex } from "../base/random-and-hash.ts"
import { createBatchedLookups } from "./batched-lookups.ts"
import type { LookupScript, RunShellScript } from "./batched-lookups.ts"
import { refuseNul } from "./refuse-nul.ts"
import { FILE_SCRIPT_PARTS, FILE_SCRIPTS } from "./shell-file-scripts.ts"
import type { FileScript } from "./shell-file-scripts.ts"
import type { DirectoryEntry, FileFacts, FileSystem } from "./workspace.ts"

export interface ShellFilesOptions {
  readonly cwd: () => string
  readonly home: string
  readonly runScript: RunShellScript
  /** How much input one script can receive. */
  readonly maxInputBytes: number
}

/** File access through a shell: each operation runs one small script, and lookups made at the same time share a script. */
export function createShellFiles(options: ShellFilesOptions): FileSystem {
  const resolve = (path: string): string => {
    if (path === "~" || path.startsWith("~/")) return posix.join(options.home, path.slice(1))
    return posix.isAbsolute(path) ? posix.normalize(path) : posix.resolve(options.cwd(), path)
  }
  const run = async (
    script: Exclude<FileScript, LookupScript>,
    args: readonly string[],
    stdin?: Uint8Array,
  ): Promise<Buffer> => {
    for (const word of args) refuseNul(word)
    const result = await options.runScript(FILE_SCRIPT_PARTS + FILE_SCRIPTS[script], args, stdin)
    if (result.failed) throw systemError(result.stderr, args[0] ?? "")
    return result.stdout
  }
  const lookups = createBatchedLookups(options.runScript)
  const lookUp = async (script: LookupScript, path: string): Promise<string> => {
    refuseNul(path)
    const result = await lookups(script, path)
    if (result.failed) throw systemError(result.stderr, path)
    return result.stdout
  }
  const temporaryDirectory = lazy(async () => String(await run("temporaryDirectory", [])))
  return {
    resolve,
    stat: async (path) => parseFacts(await lookUp("stat", resolve(path))),
    read: async (path) => await run("read", [resolve(path)]),
    readRange: async (path, { start, length }) =>
      await run("readRange", [resolve(path), String(start + 1), String(length)]),
    write: async (path, data) => {
      const target = resolve(path)
      const bytes = typeof data === "string" ? Buffer.from(data) : data
      const stage = `.hermes-${randomHex(8)}.tmp`
      const last = Math.max(0, Math.ceil(bytes.byteLength / options.maxInputBytes) - 1) * options.maxInputBytes
      const replies: string[] = []
      for (let from = 0; from < last; from += options.maxInputBytes) {
        replies.push(String(await run("append", [target, stage], bytes.subarray(from, from + options.maxInputBytes))))
      }
      replies.push(String(await run("commit", [target, stage, String(bytes.byteLength)], bytes.subarray(last))))
      const [stored = "", created = ""] = (replies.at(-1) ?? "").split("\n")
      const facts = parseFacts(stored)
      const createdDirectories = created === "created" || replies.slice(0, -1).includes("created")
      return {
        bytes: bytes.byteLength,
        path: target,
        createdDirectories,
        ...(facts === undefined ? {} : { facts }),
      }
    },
    list: async (path) => parseEntries(await run("list", [resolve(path)])),
    remove: async (path) => {
      await run("remove", [resolve(path)])
    },
    rename: async (from, to) => {
      await run("rename", [resolve(from), resolve(to)])
    },
    realPath: async (path) => posix.normalize(await lookUp("realPath", resolve(path))),
    lookup: async (path) => {
      const [facts, realPath] = splitFirstLine(await lookUp("lookup", resolve(path)))
      return { realPath: posix.normalize(realPath), facts: parseFacts(facts) }
    },
    readWithFacts: async (path, maxBytes) => {
      const output = await run("readWithFacts", [resolve(path), String(maxBytes)])
      const end = output.indexOf(10)
      const line = output.subarray(0, end).toString("latin1")
      const facts = parseFacts(line)
      return line.endsWith("content") ? { facts, content: output.subarray(end + 1) } : { facts }
    },
    temporaryDirectory,
  }
}

function splitFirstLine(text: string): readonly [string, string] {
  const end = text.indexOf("\n")
  return [text.slice(0, end), text.slice(end + 1)]
}

/** Parses the output of `stat`: raw mode in hexadecimal, size and modification time; empty when the file does not exist. */
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

function parseEntries(output: Buffer): readonly DirectoryEntry[] {
  const kinds = { f: "file", d: "directory", o: "other" } as const
  return output
    .toString("utf8")
    .split("\0")
    .filter((entry) => entry !== "")
    .map((entry) => ({
      name: entry.slice(1),
      kind: entry.startsWith("f") ? kinds.f : entry.startsWith("d") ? kinds.d : kinds.o,
    }))
}

/** Turns a shell's error message into an error with a system code, because tools decide by the code. */
function systemError(stderr: string, path: string): Error {
  const text = stderr.trim()
  const found = SYSTEM_MESSAGES.find(([message]) => text.toLowerCase().includes(message))
  if (found === undefined) return new Error(text === "" ? `${path} cannot be accessed` : text)
  return Object.assign(new Error(`${found[1]}: ${found[0]}, '${path}'`), { code: found[1], path })
}

const SYSTEM_MESSAGES = [
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
