import { createHash } from "node:crypto"

import type { TreeNode } from "./tree-node.ts"

/** What git stores: a type, a length and bytes, named by their SHA-1. */
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

/** What stands in a tree for something that was left out. It looks like a submodule, which git never follows. */
const OMITTED_ID = "6c6566742d6f75742d6f662d636865636b706f69"
const LINK_MODE = 0o120000
const SUBMODULE_MODE = 0o160000
const TYPE_BITS = 0o170000

/**
 * A tree with all permission bits of the workspace. Git itself looks only at the type and the executable bit and carries the
 * rest along; an empty directory is an empty tree.
 */
export function encodeTree(children: ReadonlyMap<string, TreeNode>): Buffer {
  const entries = [...children].map(([name, node]) => ({
    order: node.kind === "directory" ? `${name}/` : name,
    name,
    node,
  }))
  entries.sort((a, b) => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0))
  let text = ""
  for (const { name, node } of entries) {
    const id = node.kind === "omitted" ? OMITTED_ID : node.id
    text += `${treeMode(node).toString(8)} ${name}\0${Buffer.from(id, "hex").toString("latin1")}`
  }
  return Buffer.from(text, "latin1")
}

function treeMode(node: TreeNode): number {
  if (node.kind === "omitted") return SUBMODULE_MODE
  return node.kind === "link" ? LINK_MODE : node.mode
}

/** One line of a stored tree. */
export interface TreeEntry {
  readonly kind: "directory" | "file" | "link" | "omitted"
  readonly mode: number
  readonly id: string
}

export function decodeTree(content: Buffer): ReadonlyMap<string, TreeEntry> {
  const entries = new Map<string, TreeEntry>()
  for (let at = 0; at < content.length;) {
    const space = content.indexOf(0x20, at)
    const end = content.indexOf(0, space)
    if (space < 0 || end < 0 || end + 21 > content.length) throw new Error("a tree in the checkpoint store is damaged")
    const mode = Number.parseInt(content.toString("latin1", at, space), 8)
    const name = content.toString("latin1", space + 1, end)
    // Trees are made by us alone, but what is written into the workspace must stay inside it whatever the store says.
    if (name === "" || name === "." || name === ".." || name === ".git" || name.includes("/"))
      throw new Error("a tree in the checkpoint store has a forbidden name")
    entries.set(name, { kind: entryKind(mode), mode, id: content.toString("hex", end + 1, end + 21) })
    at = end + 21
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
