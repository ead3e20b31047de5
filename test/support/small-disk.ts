import { spawnSync } from "node:child_process"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

export interface SmallDisk extends Disposable {
  readonly path: string
  /** Leaves no free byte. */
  fill(): void
  free(): void
  makeReadOnly(): void
}

/** Why no file system can be mounted here; undefined when it works. */
export const noSmallDisk: string | undefined = mountProblem()

/** Mounts a file system in memory of this size at a new directory. */
export function mountSmallDisk(path: string, size: string): SmallDisk {
  mkdirSync(path, { recursive: true })
  mount(["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", path])
  const filling = join(path, "filling")
  return {
    path,
    fill: () => {
      try {
        for (;;) writeFileSync(filling, Buffer.alloc(4096), { flag: "a" })
      } catch {
        // Full.
      }
    },
    free: () => rmSync(filling, { force: true }),
    makeReadOnly: () => mount(["-o", "remount,ro", path]),
    [Symbol.dispose]: () => spawnSync("umount", ["-l", path]),
  }
}

function mountProblem(): string | undefined {
  const path = `/tmp/hermes-mount-${process.pid}`
  try {
    mountSmallDisk(path, "64k")[Symbol.dispose]()
    return undefined
  } catch (error) {
    return `mounting a file system is not allowed here: ${String(error)}`
  } finally {
    rmSync(path, { recursive: true, force: true })
  }
}

function mount(options: readonly string[]): void {
  const { status, stderr, error } = spawnSync("mount", options, { encoding: "utf8" })
  if (status !== 0) throw new Error(error?.message ?? stderr.trim())
}
