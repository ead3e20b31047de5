import { readFileSync, statSync } from "node:fs"

const MAX_BYTES = 32_000_000
const SUBMODULE = 0o160000
/** In an entry: where the mode is, and where the hash begins. */
const MODE_AT = 24
const HASH_AT = 40
const EXTENDED = 0x4000
const MORE = 0x80

/**
 * Returns the paths of the submodules that an index of git lists. `git status` starts git in each of them, with the settings of the directory
 * there, wherever it is. An index that cannot be read lists none.
 */
export function submodulePaths(indexFile: string): readonly string[] {
  try {
    if ((statSync(indexFile, { throwIfNoEntry: false })?.size ?? MAX_BYTES) >= MAX_BYTES) return []
    const bytes = readFileSync(indexFile)
    // The length of a hash is a setting of the repository.
    return listed(bytes, 20) ?? listed(bytes, 32) ?? []
  } catch {
    // It cannot be read, or is being replaced.
    return []
  }
}

/** Reads an index again only when it has changed: that of a large repository takes long. */
export function createSubmoduleLookup(): (indexFile: string) => readonly string[] {
  const known = new Map<string, { readonly identity: string; readonly paths: readonly string[] }>()
  return (indexFile) => {
    const facts = statSync(indexFile, { throwIfNoEntry: false })
    if (facts === undefined) return []
    const identity = `${facts.ino} ${facts.ctimeMs} ${facts.size}`
    const before = known.get(indexFile)
    if (before?.identity === identity) return before.paths
    const paths = submodulePaths(indexFile)
    known.set(indexFile, { identity, paths })
    return paths
  }
}

/** Undefined when the entries do not have this layout. */
function listed(bytes: Buffer, hashBytes: number): readonly string[] | undefined {
  if (bytes.toString("latin1", 0, 4) !== "DIRC") return undefined
  const version = bytes.readUInt32BE(4)
  const count = bytes.readUInt32BE(8)
  const found: string[] = []
  let at = 12
  let previous = Buffer.alloc(0)
  for (let index = 0; index < count; index += 1) {
    const flagsAt = at + HASH_AT + hashBytes
    if (flagsAt + 2 > bytes.length) return undefined
    const mode = bytes.readUInt32BE(at + MODE_AT)
    if (!MODES.has(mode)) return undefined
    const flags = bytes.readUInt16BE(flagsAt)
    let pathAt = flagsAt + (version > 2 && (flags & EXTENDED) !== 0 ? 4 : 2)
    let kept = Buffer.alloc(0)
    if (version === 4) {
      // The path continues a part of the previous one.
      const dropped = readOffset(bytes, pathAt)
      pathAt = dropped.end
      kept = previous.subarray(0, previous.length - dropped.value)
    }
    const end = bytes.indexOf(0, pathAt)
    if (end === -1) return undefined
    // Only the next entry of version 4 needs the path of a file.
    if (version === 4 || mode === SUBMODULE) previous = Buffer.concat([kept, bytes.subarray(pathAt, end)])
    if (mode === SUBMODULE) found.push(previous.toString("utf8"))
    at = version === 4 ? end + 1 : at + Math.ceil((end - at + 1) / 8) * 8
  }
  return found
}

/** Files, executable files, links, submodules, and directories of a sparse index. */
const MODES: ReadonlySet<number> = new Set([0o100644, 0o100755, 0o120000, SUBMODULE, 0o040000])

/** A number of variable length, as git writes the offsets in its packs. */
function readOffset(bytes: Buffer, start: number): { readonly value: number; readonly end: number } {
  let at = start
  let byte = bytes.readUInt8(at)
  let value = byte & (MORE - 1)
  while ((byte & MORE) !== 0) {
    at += 1
    byte = bytes.readUInt8(at)
    value = (value + 1) * MORE + (byte & (MORE - 1))
  }
  return { value, end: at + 1 }
}
