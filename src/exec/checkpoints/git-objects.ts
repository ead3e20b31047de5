import { createHash } from "node:crypto"

import type { TreeNode } from "./tree-node.ts"

/** A git object: header (type and length) and content, identified by their SHA-1. */
export interface GitObject {
  readonly id: string
  readonly header: Buffer
  readonly content: Buffer
}

export type ObjectType = "blob" | "tree" | "commit"

export function gitObject(type: ObjectType, content: Buffer): GitObject {
  const header = Buffer.from(`${type} ${content.length}\0`)
  return { id: createHash("sha1").update(header).update(content).digest("hex"), header, content }
}

/** Tree entry for an omitted file or directory. It has the form of a submodule, which git never follows. */
export const OMITTED_ID = "6c6566742d6f75742d6f662d636865636b706f69"
const LINK_MODE = 0o120000
const SUBMODULE_MODE = 0o160000
const TYPE_BITS = 0o170000

/**
 * Encodes a tree with all permission bits of the workspace. Git interprets only the type and the executable bit and preserves
 * the others; an empty directory is an empty tree.
 */
export function encodeTree(children: ReadonlyMap<string, TreeNode>): Buffer {
  const entries = Array.from(children, ([name, node]) => ({
    order: node.kind === "directory" ? `${name}/` : name,
    name,
    node,
  }))
  entries.sort((a, b) => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0))
  const heads = entries.map(({ name, node }) => `${treeMode(node).toString(8)} ${name}\0`)
  // Writing into one buffer is several times faster than joining strings, and a directory may have 50,000 entries.
  const encoded = Buffer.allocUnsafe(heads.reduce((length, head) => length + head.length + ID_BYTES, 0))
  let offset = 0
  for (const [index, { node }] of entries.entries()) {
    offset += encoded.write(heads[index] ?? "", offset, "latin1")
    offset += encoded.write(node.kind === "omitted" ? OMITTED_ID : node.id, offset, ID_BYTES, "hex")
  }
  return encoded
}

const ID_BYTES = 20

function treeMode(node: TreeNode): number {
  if (node.kind === "omitted") return SUBMODULE_MODE
  return node.kind === "link" ? LINK_MODE : node.mode
}

export interface TreeEntry {
  readonly kind: "directory" | "file" | "link" | "omitted"
  readonly mode: number
  readonly id: string
}

export function decodeTree(content: Buffer): ReadonlyMap<string, TreeEntry> {
  const entries = new Map<string, TreeEntry>()
  for (let offset = 0; offset < content.length;) {
    const space = content.indexOf(0x20, offset)
    const end = content.indexOf(0, space)
    if (space < 0 || end < 0 || end + 21 > content.length) throw new Error("a tree in the checkpoint store is damaged")
    const mode = Number.parseInt(content.toString("latin1", offset, space), 8)
    const name = content.toString("latin1", space + 1, end)
    // Only Hermes writes these trees, but even a manipulated store must not make a restore write outside the workspace.
    if (name === "" || name === "." || name === ".." || name === ".git" || name.includes("/"))
      throw new Error("a tree in the checkpoint store contains a forbidden file name")
    entries.set(name, { kind: entryKind(mode), mode, id: content.toString("hex", end + 1, end + 21) })
    offset = end + 21
  }
  return entries
}

function entryKind(mode: number): TreeEntry["kind"] {
  switch (mode & TYPE_BITS) {
    case 0o040000:
      return "directory"
    case 0o100000:
      return "file"
    case LINK_MODE:
      return "link"
    default:
      return "omitted"
  }
}
