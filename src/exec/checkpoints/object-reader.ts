import { ended, startGit } from "./git-command.ts"
import type { GitPlace } from "./git-command.ts"
import { decodeTree } from "./git-objects.ts"
import type { TreeEntry } from "./git-objects.ts"

/** Reads objects of the store, one after the other, through one git. Whoever opens it closes it. */
export interface ObjectReader {
  /** Rejects when the store does not hold the object. */
  content(id: string): Promise<Buffer>
  tree(id: string): Promise<ReadonlyMap<string, TreeEntry>>
  close(): Promise<void>
}

export function openObjectReader(place: GitPlace, signal: AbortSignal): ObjectReader {
  const child = startGit(place, ["cat-file", "--batch"])
  const exit = ended(child, signal)
  exit.catch(() => undefined)
  const chunks = child.stdout.iterator({ destroyOnReturn: false })
  let rest: Buffer = Buffer.alloc(0)
  const more = async (): Promise<void> => {
    const next = await chunks.next()
    const chunk: unknown = next.value
    if (next.done === true || !Buffer.isBuffer(chunk)) {
      await exit
      throw new Error("git ended while the checkpoint store was read")
    }
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
  }
  const content = async (id: string): Promise<Buffer> => {
    child.stdin.write(`${id}\n`)
    while (!rest.includes(0x0a)) await more()
    const end = rest.indexOf(0x0a)
    const [, type = "", size = ""] = rest.toString("latin1", 0, end).split(" ")
    rest = rest.subarray(end + 1)
    if (type === "missing" || size === "") throw new Error(`the checkpoint store lacks the object ${id}`)
    const parts: Buffer[] = []
    let wanted = Number(size) + 1
    while (wanted > rest.length) {
      parts.push(rest)
      wanted -= rest.length
      rest = Buffer.alloc(0)
      await more()
    }
    parts.push(rest.subarray(0, wanted))
    rest = rest.subarray(wanted)
    const whole = Buffer.concat(parts)
    return whole.subarray(0, whole.length - 1)
  }
  return {
    content,
    tree: async (id) => decodeTree(await content(id)),
    close: async () => {
      child.stdin.end()
      child.kill()
      await exit.catch(() => undefined)
    },
  }
}
