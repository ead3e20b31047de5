import type { Entry, ZipFile } from "yauzl"

export interface ArchiveFile {
  readonly entry: Entry
  /** Target path relative to the root, with `/` as separator. */
  readonly name: string
}

export interface ArchiveContents {
  readonly files: readonly ArchiveFile[]
  /** Entries that are not restored, with the reason. */
  readonly refused: readonly string[]
  readonly bytes: number
}

/** An archive without any of these files is not a backup; a home with one of them is in use. */
export const ESSENTIAL_FILES: readonly string[] = ["config.yaml", ".env", "state.db"]
/** A single top-level directory with one of these names is left out of the target paths. */
const WRAPPING_DIRECTORIES = [".hermes/", "hermes/"]
const SYMBOLIC_LINK = 0o120000
const FILE_TYPE = 0o170000

/** Reads the names in an archive; returns undefined when it is not a backup of Hermes. */
export async function readArchive(zip: ZipFile): Promise<ArchiveContents | undefined> {
  const found: ArchiveFile[] = []
  const refused: string[] = []
  for await (const entry of zip.eachEntry()) {
    const name = new TextDecoder().decode(entry.fileNameRaw)
    const problem = entryProblem(name, entry)
    if (problem !== undefined) refused.push(`${JSON.stringify(name)}: ${problem}`)
    else if (!name.endsWith("/")) found.push({ entry, name })
  }
  if (!found.some(({ name }) => ESSENTIAL_FILES.includes(name.split("/").at(-1) ?? ""))) return undefined
  const wrapper = WRAPPING_DIRECTORIES.find((prefix) => found.every(({ name }) => name.startsWith(prefix))) ?? ""
  const files = found.map(({ entry, name }) => ({ entry, name: name.slice(wrapper.length) }))
  return { files, refused, bytes: files.reduce((sum, file) => sum + file.entry.uncompressedSize, 0) }
}

/** Accepts only regular files and directories below the root, on any operating system. */
function entryProblem(name: string, entry: Entry): string | undefined {
  if (name === "" || name.includes("\0")) return "it has no usable name"
  if (name.startsWith("/") || name.includes("\\") || /^[A-Za-z]:/.test(name)) return "its path is not relative"
  if (name.split("/").some((part) => part === ".." || part === ".")) return "its path leaves the directory"
  const type = (entry.externalFileAttributes >>> 16) & FILE_TYPE
  if (type === SYMBOLIC_LINK) return "it is a link"
  if (entry.isEncrypted()) return "it is encrypted"
  return undefined
}
