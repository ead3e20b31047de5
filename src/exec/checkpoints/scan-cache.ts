import { readFileSync } from "node:fs"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import type { DirectoryNode, OmissionReason, TreeNode } from "./tree-node.ts"

/** The result of the last scan of a workspace, cached so that a new process need not read every file again. */
interface CachedScan {
  /** The store epoch it belongs to; pruning the store may remove objects that the scan refers to. */
  readonly epoch: string
  readonly root: DirectoryNode
}

const FORMAT = 1

export function writeScanCache(path: string, { epoch, root }: CachedScan): void {
  writeFileAtomic(path, JSON.stringify({ format: FORMAT, epoch, root: packDirectory(root) }))
}

/** Returns undefined when there is no cache for this epoch or it is damaged; the caller then scans everything. */
export function readScanCache(path: string, epoch: string): DirectoryNode | undefined {
  let text: string
  try {
    text = readFileSync(path, "utf8")
  } catch {
    return undefined
  }
  const cache = parseJson(text)
  if (!isRecord(cache) || cache["format"] !== FORMAT || cache["epoch"] !== epoch) return undefined
  const root = unpack(cache["root"])
  return root?.kind === "directory" ? root : undefined
}

type Packed = readonly unknown[]

/** Arrays instead of objects keep the file small: the first change of a session waits for it to be read. */
function packDirectory(node: DirectoryNode): Packed {
  const children = [...node.children].flatMap(([name, child]) => [name, pack(child)])
  return ["d", node.mode, node.mtimeMs, node.ctimeMs, node.ino, node.settled ? 1 : 0, node.id, children]
}

function pack(node: TreeNode): Packed {
  if (node.kind === "omitted") return ["o", node.reason]
  if (node.kind === "directory") return packDirectory(node)
  const kind = node.kind === "link" ? "l" : "f"
  return [kind, node.mode, node.mtimeMs, node.ctimeMs, node.ino, node.settled ? 1 : 0, node.id, node.size]
}

function unpack(packed: unknown): TreeNode | undefined {
  if (!Array.isArray(packed)) return undefined
  const [kind, mode, mtimeMs, ctimeMs, ino, settled, id, last]: readonly unknown[] = packed
  if (kind === "o") return isOmission(mode) ? { kind: "omitted", reason: mode } : undefined
  if (typeof mode !== "number" || typeof mtimeMs !== "number" || typeof ctimeMs !== "number") return undefined
  if (typeof ino !== "number" || typeof id !== "string" || !OBJECT_ID.test(id)) return undefined
  const statData = { mode, mtimeMs, ctimeMs, ino, settled: settled === 1, id }
  if (kind === "d") {
    const children = unpackChildren(last)
    return children === undefined ? undefined : { kind: "directory", ...statData, children }
  }
  if ((kind !== "f" && kind !== "l") || typeof last !== "number") return undefined
  return { kind: kind === "f" ? "file" : "link", ...statData, size: last }
}

function unpackChildren(packed: unknown): ReadonlyMap<string, TreeNode> | undefined {
  if (!Array.isArray(packed)) return undefined
  const children = new Map<string, TreeNode>()
  for (let index = 0; index < packed.length; index += 2) {
    const name: unknown = packed[index]
    const child = unpack(packed[index + 1])
    if (typeof name !== "string" || child === undefined) return undefined
    children.set(name, child)
  }
  return children
}

const OBJECT_ID = /^[0-9a-f]{40}$/u

function isOmission(value: unknown): value is OmissionReason {
  return value === "too-large" || value === "unreadable" || value === "special"
}
