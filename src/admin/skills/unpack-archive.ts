import { createReadStream, createWriteStream } from "node:fs"
import { dirname, join } from "node:path"
import { Transform } from "node:stream"
import { pipeline } from "node:stream/promises"
import { createGunzip } from "node:zlib"

import { makeDirectories } from "../../base/make-directories.ts"
import { errorMessage } from "../../base/system-error.ts"

/** The archive was refused; the message contains the reason. */
export class ArchiveError extends Error {
  override readonly name = "ArchiveError"
}

const MAX_ENTRIES = 5000
const MAX_BYTES = 50_000_000

/** Unpacks a zip or tar.gz into an empty directory. Only regular files with names that stay in it; anything else is an `ArchiveError`. */
export async function unpackArchive(archive: string, target: string): Promise<void> {
  const limits = createLimits()
  try {
    if (archive.toLowerCase().endsWith(".zip")) await unpackZip(archive, target, limits)
    else await unpackTar(archive, target, limits)
  } catch (cause) {
    if (cause instanceof ArchiveError) throw cause
    throw new ArchiveError(`it is not a readable archive (${errorMessage(cause)})`, { cause })
  }
}

type Limits = ReturnType<typeof createLimits>

function createLimits() {
  let entries = 0
  let bytes = 0
  return {
    /** Counts an entry and returns where it belongs. */
    place: (target: string, name: string): string => {
      entries += 1
      if (entries > MAX_ENTRIES) throw new ArchiveError(`it has more than ${MAX_ENTRIES} entries`)
      const parts = name.split("/").filter((part) => part !== "" && part !== ".")
      const isUsable = !name.startsWith("/") && !/\\|\0|^[A-Za-z]:/u.test(name) && !parts.includes("..")
      if (!isUsable) throw new ArchiveError(`the entry ${JSON.stringify(name)} would leave its directory`)
      return join(target, ...parts)
    },
    /** Counts what is really unpacked: sizes in headers may lie. */
    limiter: (): Transform =>
      new Transform({
        transform: (chunk: Buffer, _encoding, done) => {
          bytes += chunk.length
          const isTooLarge = bytes > MAX_BYTES
          done(isTooLarge ? new ArchiveError(`it unpacks to more than ${MAX_BYTES / 1_000_000} MB`) : null, chunk)
        },
      }),
  }
}

const FILE_TYPE = 0o170000
const SYMBOLIC_LINK = 0o120000

async function unpackZip(archive: string, target: string, limits: Limits): Promise<void> {
  const { default: yauzl } = await import("yauzl")
  const zip = await yauzl.openPromise(archive, { decodeStrings: false, autoClose: false })
  try {
    for await (const entry of zip.eachEntry()) {
      const name = new TextDecoder().decode(entry.fileNameRaw)
      const path = limits.place(target, name)
      if (((entry.externalFileAttributes >>> 16) & FILE_TYPE) === SYMBOLIC_LINK)
        throw new ArchiveError(`the entry ${JSON.stringify(name)} is a link`)
      if (name.endsWith("/")) continue
      makeDirectories(dirname(path))
      await pipeline(await zip.openReadStreamPromise(entry), limits.limiter(), newFile(path))
    }
  } finally {
    zip.close()
  }
}

async function unpackTar(archive: string, target: string, limits: Limits): Promise<void> {
  // A CommonJS library: in the bundle it only has a default export.
  const { extract } = (await import("tar-stream")).default
  const entries = extract()
  const reading = archive.endsWith(".tar")
    ? pipeline(createReadStream(archive), entries)
    : pipeline(createReadStream(archive), createGunzip(), entries)
  const writing = (async () => {
    for await (const entry of entries) {
      const { name, type } = entry.header
      const path = limits.place(target, name)
      if (type === "directory") entry.resume()
      else if (type === "file" || type === "contiguous-file") {
        makeDirectories(dirname(path))
        await pipeline(entry, limits.limiter(), newFile(path))
      } else throw new ArchiveError(`the entry ${JSON.stringify(name)} is a ${type ?? "special file"}, not a file`)
    }
  })()
  try {
    await Promise.all([reading, writing])
  } catch (error) {
    entries.destroy()
    await Promise.allSettled([reading, writing])
    throw error
  }
}

function newFile(path: string) {
  return createWriteStream(path, { flags: "wx", mode: 0o600 })
}
