import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { deflateSync } from "node:zlib"

import { randomHex } from "../../base/random-and-hash.ts"
import { isNotFound } from "../../base/system-error.ts"
import { ended, startGit } from "./git-command.ts"
import type { GitPlace } from "./git-command.ts"
import { gitObject } from "./git-objects.ts"
import type { GitObject } from "./git-objects.ts"

/**
 * Adds objects to the store. A few are written directly, because starting git would take longer than the whole snapshot; many
 * (a first snapshot) go through `git fast-import` into one pack. Nothing counts as stored before `finish`.
 */
export interface ObjectWriter {
  blob(content: Buffer): string
  tree(content: Buffer): string
  commit(text: string): string
  /** More waits for git than should be kept in memory. */
  isCongested(): boolean
  drain(): Promise<void>
  finish(): Promise<void>
  /** Ends git if it still runs. */
  abandon(): void
}

/** From this many blobs on git makes a pack of them. */
const DIRECT_BLOBS = 100
const MAX_WAITING_BYTES = 8 * 1024 * 1024

export function createObjectWriter(place: GitPlace, signal: AbortSignal): ObjectWriter {
  const written = new Set<string>()
  let blobs = 0
  let bulk: ReturnType<typeof startBulk> | undefined
  const direct = (object: GitObject): string => {
    if (!written.has(object.id)) writeLoose(place.gitDir, object)
    written.add(object.id)
    return object.id
  }
  return {
    blob: (content) => {
      const object = gitObject("blob", content)
      if (written.has(object.id)) return object.id
      blobs += 1
      if (blobs <= DIRECT_BLOBS) return direct(object)
      bulk ??= startBulk(place, signal)
      bulk.push(content)
      written.add(object.id)
      return object.id
    },
    tree: (content) => direct(gitObject("tree", content)),
    commit: (text) => direct(gitObject("commit", Buffer.from(text))),
    isCongested: () => bulk !== undefined && bulk.waiting() > MAX_WAITING_BYTES,
    drain: async () => {
      await bulk?.drain()
    },
    finish: async () => {
      await bulk?.finish()
      bulk = undefined
    },
    abandon: () => {
      bulk?.abandon()
    },
  }
}

function writeLoose(gitDir: string, { id, header, content }: GitObject): void {
  const folder = join(gitDir, "objects", id.slice(0, 2))
  const path = join(folder, id.slice(2))
  // An empty one was left by a power failure.
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0) return
  const temporary = join(folder, `tmp_obj_${randomHex(6)}`)
  const data = deflateSync(Buffer.concat([header, content]), { level: 1 })
  try {
    writeInto(folder, temporary, data)
    renameSync(temporary, path)
  } catch (cause) {
    rmSync(temporary, { force: true })
    throw cause
  }
}

function writeInto(folder: string, path: string, data: Buffer): void {
  try {
    writeFileSync(path, data, { flag: "wx", mode: 0o444 })
  } catch (cause) {
    if (!isNotFound(cause)) throw cause
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(path, data, { flag: "wx", mode: 0o444 })
  }
}

function startBulk(place: GitPlace, signal: AbortSignal) {
  const child = startGit(place, ["fast-import", "--quiet"])
  let said = ""
  child.stderr.on("data", (chunk: Buffer) => {
    said = `${said}${chunk.toString("utf8")}`.slice(0, 500)
  })
  child.stdout.resume()
  const exit = ended(child, signal)
  // Whoever waits hears of a failure; until somebody does it must not count as unhandled.
  exit.catch(() => undefined)
  return {
    push: (content: Buffer): void => {
      child.stdin.write(`blob\ndata ${content.length}\n`)
      child.stdin.write(content)
      child.stdin.write("\n")
    },
    waiting: () => child.stdin.writableLength,
    drain: async (): Promise<void> => {
      if (!child.stdin.writableNeedDrain || child.stdin.destroyed) return
      const { promise, resolve } = Promise.withResolvers<undefined>()
      child.stdin.once("drain", () => {
        resolve(undefined)
      })
      await Promise.race([promise, exit])
    },
    finish: async (): Promise<void> => {
      child.stdin.end()
      const code = await exit
      if (code !== 0) throw new Error(`git could not store the files: ${said.trim()}`)
    },
    abandon: (): void => {
      child.kill("SIGKILL")
    },
  }
}
