import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { deflateSync } from "node:zlib"

import { randomHex } from "../../base/random-and-hash.ts"
import { isNotFound } from "../../base/system-error.ts"
import { killGit, startGit, waitForExit } from "./git-command.ts"
import type { ShadowRepository } from "./git-command.ts"
import { gitObject } from "./git-objects.ts"
import type { GitObject } from "./git-objects.ts"

/**
 * Adds objects to the store. The first ones are written as loose objects, because starting git would take longer than a small
 * snapshot; from `MAX_LOOSE_BLOBS` on, `git fast-import` writes one pack. It also gets large files, because compressing them here would
 * block the event loop. Only `finish` guarantees that everything is stored.
 */
export interface ObjectWriter {
  blob(content: Buffer): string
  tree(content: Buffer): string
  commit(text: string): string
  /** Whether so much unwritten data is queued for git that the caller should `drain` first. */
  isCongested(): boolean
  drain(): Promise<void>
  finish(): Promise<void>
  /** Kills git if it is still running. */
  abandon(): void
}

const MAX_LOOSE_BLOBS = 100
const MAX_LOOSE_BYTES = 1024 * 1024
const MAX_QUEUED_BYTES = 8 * 1024 * 1024

export function createObjectWriter(repository: ShadowRepository, signal: AbortSignal): ObjectWriter {
  const written = new Set<string>()
  let blobs = 0
  let fastImport: ReturnType<typeof startFastImport> | undefined
  const writeOnce = (object: GitObject): string => {
    if (!written.has(object.id)) writeLoose(repository.gitDir, object)
    written.add(object.id)
    return object.id
  }
  return {
    blob: (content) => {
      const object = gitObject("blob", content)
      if (written.has(object.id)) return object.id
      if (content.length <= MAX_LOOSE_BYTES) blobs += 1
      if (content.length <= MAX_LOOSE_BYTES && blobs <= MAX_LOOSE_BLOBS) return writeOnce(object)
      fastImport ??= startFastImport(repository, signal)
      fastImport.push(content)
      written.add(object.id)
      return object.id
    },
    tree: (content) => writeOnce(gitObject("tree", content)),
    commit: (text) => writeOnce(gitObject("commit", Buffer.from(text))),
    isCongested: () => fastImport !== undefined && fastImport.queuedBytes() > MAX_QUEUED_BYTES,
    drain: async () => {
      await fastImport?.drain()
    },
    finish: async () => {
      await fastImport?.finish()
      fastImport = undefined
    },
    abandon: () => {
      fastImport?.abandon()
    },
  }
}

/**
 * Removes what killed processes have left of packs. Git itself removes it only with the next garbage collection. The caller holds the
 * lock of the store.
 */
export function removeUnfinishedPacks({ gitDir }: ShadowRepository): void {
  const directory = join(gitDir, "objects", "pack")
  for (const name of readdirSync(directory)) if (name.startsWith("tmp_")) rmSync(join(directory, name), { force: true })
}

function writeLoose(gitDir: string, { id, header, content }: GitObject): void {
  const directory = join(gitDir, "objects", id.slice(0, 2))
  const path = join(directory, id.slice(2))
  // A power failure can leave an empty object file, which must be written again.
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0) return
  const temporary = join(directory, `tmp_obj_${randomHex(6)}`)
  const data = deflateSync(Buffer.concat([header, content]), { level: 1 })
  try {
    writeInto(directory, temporary, data)
    renameSync(temporary, path)
  } catch (cause) {
    rmSync(temporary, { force: true })
    throw cause
  }
}

function writeInto(directory: string, path: string, data: Buffer): void {
  try {
    writeFileSync(path, data, { flag: "wx", mode: 0o444 })
  } catch (cause) {
    if (!isNotFound(cause)) throw cause
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    writeFileSync(path, data, { flag: "wx", mode: 0o444 })
  }
}

function startFastImport(repository: ShadowRepository, signal: AbortSignal) {
  const child = startGit(repository, ["fast-import", "--quiet"])
  let errorOutput = ""
  child.stderr.on("data", (chunk: Buffer) => {
    errorOutput = `${errorOutput}${chunk.toString("utf8")}`.slice(0, 500)
  })
  child.stdout.resume()
  const exit = waitForExit(child, signal)
  // `drain` and `finish` report a failure; until one of them is awaited, the rejection must not count as unhandled.
  exit.catch(() => undefined)
  return {
    push: (content: Buffer): void => {
      child.stdin.write(`blob\ndata ${content.length}\n`)
      child.stdin.write(content)
      child.stdin.write("\n")
    },
    queuedBytes: () => child.stdin.writableLength,
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
      if (code !== 0) throw new Error(`git could not store the files: ${errorOutput.trim()}`)
    },
    abandon: (): void => {
      killGit(child)
    },
  }
}
