import { killGit, startGit, waitForExit } from "./git-command.ts"
import type { ShadowRepository } from "./git-command.ts"
import { decodeTree } from "./git-objects.ts"
import type { TreeEntry } from "./git-objects.ts"

/** Reads objects from the store one after the other, through one `git cat-file` process. The caller must close it. */
export interface ObjectReader {
  /** Rejects when the store does not hold the object. */
  content(id: string): Promise<Buffer>
  tree(id: string): Promise<ReadonlyMap<string, TreeEntry>>
  close(): Promise<void>
}

export function openObjectReader(repository: ShadowRepository, signal: AbortSignal): ObjectReader {
  const child = startGit(repository, ["cat-file", "--batch"])
  const exit = waitForExit(child, signal)
  exit.catch(() => undefined)
  const chunks = child.stdout.iterator({ destroyOnReturn: false })
  let buffered: Buffer = Buffer.alloc(0)
  const readMore = async (): Promise<void> => {
    const next = await chunks.next()
    const chunk: unknown = next.value
    if (next.done === true || !Buffer.isBuffer(chunk)) {
      await exit
      throw new Error("git exited while reading the checkpoint store")
    }
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk])
  }
  const content = async (id: string): Promise<Buffer> => {
    child.stdin.write(`${id}\n`)
    while (!buffered.includes(0x0a)) await readMore()
    const end = buffered.indexOf(0x0a)
    const [, type = "", size = ""] = buffered.toString("latin1", 0, end).split(" ")
    buffered = buffered.subarray(end + 1)
    if (type === "missing" || size === "") throw new Error(`object ${id} is missing from the checkpoint store`)
    const parts: Buffer[] = []
    let missing = Number(size) + 1
    while (missing > buffered.length) {
      parts.push(buffered)
      missing -= buffered.length
      buffered = Buffer.alloc(0)
      await readMore()
    }
    parts.push(buffered.subarray(0, missing))
    buffered = buffered.subarray(missing)
    const whole = Buffer.concat(parts)
    return whole.subarray(0, whole.length - 1)
  }
  return {
    content,
    tree: async (id) => decodeTree(await content(id)),
    close: async () => {
      child.stdin.end()
      killGit(child)
      await exit.catch(() => undefined)
    },
  }
}
