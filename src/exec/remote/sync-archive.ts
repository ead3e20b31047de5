import { createHash, randomUUID } from "node:crypto"
import { createWriteStream } from "node:fs"
import { open, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import type { Pack } from "tar-stream"

import type { HostFile } from "./synced-files.ts"

/** A file as the other place has got it. */
export interface SentFile {
  readonly size: number
  readonly modifiedMs: number
  readonly hash: string
}

export interface Shipment {
  readonly home: string
  readonly changed: readonly HostFile[]
  readonly removed: readonly string[]
  /** What the other place holds when all of it has arrived. */
  readonly list: (sent: ReadonlyMap<string, SentFile>) => string
}

/**
 * An archive in parts of at most so many bytes; the checksums of its files are in `sent` when it has ended. Files have numbers in it: not every
 * tar understands long and foreign names. What must not be missing comes last.
 */
export async function* packShipment(
  shipment: Shipment,
  { sent, partBytes }: { readonly sent: Map<string, SentFile>; readonly partBytes: number },
): AsyncGenerator<Uint8Array, void, void> {
  // A CommonJS library: once bundled it has a default export only.
  const { pack } = (await import("tar-stream")).default
  const archive = pack()
  const adding = addAll(archive, shipment, sent).catch((error: unknown) => {
    archive.destroy(error instanceof Error ? error : new Error(String(error)))
  })
  let held: Buffer[] = []
  let bytes = 0
  for await (const chunk of archive) {
    let rest = bytesOf(chunk)
    while (bytes + rest.length > partBytes) {
      const room = partBytes - bytes
      yield Buffer.concat([...held, rest.subarray(0, room)])
      rest = rest.subarray(room)
      held = []
      bytes = 0
    }
    held.push(rest)
    bytes += rest.length
  }
  await adding
  yield Buffer.concat(held)
}

/** The types of the library leave open what its streams carry. */
function bytesOf(chunk: unknown): Buffer {
  if (Buffer.isBuffer(chunk)) return chunk
  throw new Error("a part of the archive is no bytes")
}

async function addAll(archive: Pack, shipment: Shipment, sent: Map<string, SentFile>): Promise<void> {
  for (const [index, file] of shipment.changed.entries()) {
    const { size, modifiedMs } = file
    const header = { name: `files/${index}`, mode: file.mode & 0o700, mtime: new Date(modifiedMs), size }
    sent.set(file.path, { size, modifiedMs, hash: await addFile(archive, header, join(shipment.home, file.path)) })
  }
  const moves = shipment.changed.map(({ path }, index) => `${index}\0${path}\0`).join("")
  await addText(archive, "moves", moves)
  await addText(archive, "removed", shipment.removed.map((path) => `${path}\0`).join(""))
  await addText(archive, "list", shipment.list(sent))
  archive.finalize()
}

type FileHeader = Parameters<Pack["entry"]>[0] & { readonly size: number }

/** Exactly as many bytes as were announced, or a failure: a file that is just being written comes with the next shipment. */
async function addFile(archive: Pack, header: FileHeader, source: string): Promise<string> {
  const hash = createHash("sha256")
  const file = await open(source, "r")
  try {
    const bytes = async function* (): AsyncGenerator<Uint8Array, void, void> {
      let left = header.size
      while (left > 0) {
        const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(left, READ_BYTES)))
        if (bytesRead === 0) throw new Error(`${source} changed while it was read`)
        const part = buffer.subarray(0, bytesRead)
        hash.update(part)
        left -= bytesRead
        yield part
      }
    }
    if (header.size === 0) await addText(archive, header.name, "")
    else await pipeline(Readable.from(bytes()), archive.entry(header))
  } finally {
    await file.close()
  }
  return hash.digest("hex")
}

const READ_BYTES = 256 * 1024

async function addText(archive: Pack, name: string, text: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    archive.entry({ name, mode: 0o600 }, text, (error) => {
      if (error === undefined || error === null) resolve()
      else reject(error)
    })
  })
}

/** A file that comes back: its checksum was told before, and it goes to a place that was judged. */
export interface Returning {
  readonly hash: string
  readonly target: string
  readonly mode: number
  /** Asked last of all: false leaves the file of this machine as it is. */
  readonly mayReplace: () => boolean
}

/** Puts what was asked for in its place, whole and with the right checksum, and nothing else. Gives the paths that have come. */
export async function unpackReturning(
  parts: AsyncIterable<Uint8Array>,
  wanted: ReadonlyMap<string, Returning>,
): Promise<readonly string[]> {
  const { extract } = (await import("tar-stream")).default
  const entries = extract()
  const arrived: string[] = []
  const reading = pipeline(Readable.from(parts), entries)
  const writing = (async () => {
    for await (const entry of entries) {
      const path = entry.header.name.replace(/^\.\//, "")
      const file = entry.header.type === "file" ? wanted.get(path) : undefined
      if (file === undefined || arrived.includes(path)) entry.resume()
      else if (await store(entry, file)) arrived.push(path)
    }
  })()
  await Promise.all([reading, writing]).catch((error: unknown) => {
    entries.destroy()
    throw error
  })
  return arrived
}

async function store(
  content: AsyncIterable<unknown>,
  { hash: expected, target, mode, mayReplace }: Returning,
): Promise<boolean> {
  const stage = `${target}.${randomUUID()}.tmp`
  const hash = createHash("sha256")
  try {
    await pipeline(
      content,
      async function* (chunks: AsyncIterable<unknown>) {
        for await (const chunk of chunks) {
          hash.update(bytesOf(chunk))
          yield chunk
        }
      },
      createWriteStream(stage, { flags: "wx", mode }),
    )
    // It was changed once more while it was packed, or is not what was announced.
    if (hash.digest("hex") !== expected || !mayReplace()) return false
    await rename(stage, target)
    return true
  } finally {
    await rm(stage, { force: true })
  }
}
