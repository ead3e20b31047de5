const SUBMODULE = 0o160000
const TYPE = 0o170000
/** Files, links and submodules. A directory of a sparse index stands for entries that are in a tree. */
const TYPES: ReadonlySet<number> = new Set([0o100000, 0o120000, SUBMODULE])
/** In an entry: where the mode is, and where the hash begins. */
const MODE_AT = 24
const HASH_AT = 40
const HASH_BYTES = 20
const EXTENDED = 0x4000
const LENGTH = 0x0fff
const MORE = 0x80

/** The others move entries elsewhere, or say where a thread begins to read. */
const PLAIN_EXTENSIONS: ReadonlySet<string> = new Set(["TREE", "REUC", "UNTR", "FSMN"])

/**
 * Returns the paths of the submodules in an index of git with SHA-1. Undefined for a split or sparse index, and for everything that git itself would
 * not write like this: git may then read other entries than this function.
 */
export function submodulesInIndex(bytes: Buffer): readonly Buffer[] | undefined {
  try {
    return entriesIn(bytes)
  } catch (error) {
    // It is cut off.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function entriesIn(bytes: Buffer): readonly Buffer[] | undefined {
  if (bytes.toString("latin1", 0, 4) !== "DIRC") return undefined
  const version = bytes.readUInt32BE(4)
  if (version < 2 || version > 4) return undefined
  const count = bytes.readUInt32BE(8)
  const found: Buffer[] = []
  let at = 12
  let previous = Buffer.alloc(0)
  for (let index = 0; index < count; index += 1) {
    const flagsAt = at + HASH_AT + HASH_BYTES
    const mode = bytes.readUInt32BE(at + MODE_AT)
    if (!TYPES.has(mode & TYPE)) return undefined
    const flags = bytes.readUInt16BE(flagsAt)
    let pathAt = flagsAt + (version > 2 && (flags & EXTENDED) !== 0 ? 4 : 2)
    let kept = 0
    if (version === 4) {
      // The path continues a part of the previous one.
      const dropped = readOffset(bytes, pathAt)
      pathAt = dropped.end
      kept = previous.length - dropped.value
      if (kept < 0) return undefined
    }
    const end = bytes.indexOf(0, pathAt)
    if (end === -1) return undefined
    const length = kept + end - pathAt
    // Git believes the length, not the end of the text.
    if ((flags & LENGTH) !== Math.min(length, LENGTH)) return undefined
    // Only the next entry of version 4 needs the path of a file.
    if (version === 4 || isSubmodule(mode))
      previous = Buffer.concat([previous.subarray(0, kept), bytes.subarray(pathAt, end)])
    if (isSubmodule(mode)) found.push(previous)
    at = version === 4 ? end + 1 : at + Math.ceil((end - at + 1) / 8) * 8
  }
  return endsPlainly(bytes, at) ? found : undefined
}

/** Git ignores the other bits of the mode. */
export function isSubmodule(mode: number): boolean {
  return (mode & TYPE) === SUBMODULE
}

function endsPlainly(bytes: Buffer, start: number): boolean {
  let at = start
  while (at < bytes.length - HASH_BYTES) {
    if (!PLAIN_EXTENSIONS.has(bytes.toString("latin1", at, at + 4))) return false
    at += 8 + bytes.readUInt32BE(at + 4)
  }
  return at === bytes.length - HASH_BYTES
}

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
