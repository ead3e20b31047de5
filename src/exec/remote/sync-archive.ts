import { createHash, randomUUID } from "node:crypto"
import { createWriteStream } from "node:fs"
import { open, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import type { Pack } from "tar-stream"

import type { LocalFile } from "./synced-files.ts"

/** A local file at the time it was uploaded. */
export interface UploadedFile {
  readonly size: number
  readonly modifiedMs: number
  readonly hash: string
}

export interface UploadBatch {
  readonly home: string
  readonly changed: readonly LocalFile[]
  readonly removed: readonly string[]
  /** Returns the manifest of all files that the remote workspace has after this upload. */
  readonly manifest: (uploaded: ReadonlyMap<string, UploadedFile>) => string
}

/**
 * Yields a tar archive in parts of at most `partBytes`, and adds its files with their checksums to `uploaded`. The archive names files by
 * number, because not every tar supports long or non-ASCII names. Required entries come last, so that their presence proves completeness.
 */
export async function* packUpload(
  batch: UploadBatch,
  { uploaded, partBytes }: { readonly uploaded: Map<string, UploadedFile>; readonly partBytes: number },
): AsyncGenerator<Uint8Array, void, void> {
  // tar-stream is CommonJS: once bundled it has a default export only.
  const { pack } = (await import("tar-stream")).default
  const archive = pack()
  const adding = addEntries(archive, batch, uploaded).catch((error: unknown) => {
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

/** The library's types do not say what its streams yield. */
function bytesOf(chunk: unknown): Buffer {
  if (Buffer.isBuffer(chunk)) return chunk
  throw new Error("unexpected chunk in the archive stream")
}

async function addEntries(archive: Pack, batch: UploadBatch, uploaded: Map<string, UploadedFile>): Promise<void> {
  for (const [index, file] of batch.changed.entries()) {
    const { size, modifiedMs } = file
    const header = { name: `files/${index}`, mode: file.mode & 0o700, mtime: new Date(modifiedMs), size }
    uploaded.set(file.path, { size, modifiedMs, hash: await addFile(archive, header, join(batch.home, file.path)) })
  }
  const moves = batch.changed.map(({ path }, index) => `${index}\0${path}\0`).join("")
  await addText(archive, "moves", moves)
  await addText(archive, "removed", batch.removed.map((path) => `${path}\0`).join(""))
  await addText(archive, "manifest", batch.manifest(uploaded))
  archive.finalize()
}

type FileHeader = Parameters<Pack["entry"]>[0] & { readonly size: number }

/** Adds exactly `header.size` bytes and returns their checksum. Throws for a file that changes meanwhile; the next upload retries it. */
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

/** Where to store a downloaded file whose checksum is known and whose path has been checked. */
export interface DownloadTarget {
  readonly hash: string
  /** In bytes, as announced; a longer entry is dropped. */
  readonly size: number
  readonly target: string
  readonly mode: number
  /** Checked right before the file is replaced; false keeps the local file. */
  readonly mayReplace: () => boolean
}

/** Stores the wanted files whose checksums match and ignores all other entries. Returns the paths it stored. */
export async function unpackDownload(
  parts: AsyncIterable<Uint8Array>,
  wanted: ReadonlyMap<string, DownloadTarget>,
): Promise<readonly string[]> {
  const { extract } = (await import("tar-stream")).default
  const entries = extract()
  const stored = new Set<string>()
  const reading = pipeline(Readable.from(parts), entries)
  const writing = (async () => {
    for await (const entry of entries) {
      const path = entry.header.name.replace(/^\.\//, "")
      const file = entry.header.type === "file" ? wanted.get(path) : undefined
      if (file === undefined || file.size !== entry.header.size || stored.has(path)) entry.resume()
      else if (await store(entry, file)) stored.add(path)
    }
  })()
  await Promise.all([reading, writing]).catch((error: unknown) => {
    entries.destroy()
    throw error
  })
  return [...stored]
}

async function store(
  content: AsyncIterable<unknown>,
  { hash: expected, target, mode, mayReplace }: DownloadTarget,
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
    // It changed again while it was packed, or is not the listed file.
    if (hash.digest("hex") !== expected || !mayReplace()) return false
    await rename(stage, target)
    return true
  } finally {
    await rm(stage, { force: true })
  }
}
