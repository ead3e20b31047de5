import type { Result } from "../../base/result.ts"
import { ok } from "../../base/result.ts"
import { editConfig } from "../../config/edit-config.ts"
import { deleteMemoryFile } from "../../knowledge/memory/delete-memory-file.ts"
import { MEMORY_TARGETS, memoryPaths, type MemoryTarget } from "../../knowledge/memory/memory-file.ts"
import { memoryStoreOptions } from "../../knowledge/memory/memory-settings.ts"
import { createMemoryStore } from "../../knowledge/memory/memory-store.ts"
import { listStagedWrites } from "../../knowledge/memory/staged-writes.ts"
import { failed, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadSettings } from "../settings/load-settings.ts"

export interface MemoryStatus {
  readonly files: readonly MemoryFileStatus[]
  /** Name of the external memory provider; empty when only the files are used. */
  readonly memoryProvider: string
  readonly writeApproval: boolean
  /** Changes that wait for the user's approval. */
  readonly stagedWrites: number
  /** Sentences for the user: a file that was moved, truncated or could not be read. */
  readonly notices: readonly string[]
}

export interface MemoryFileStatus {
  readonly target: MemoryTarget
  readonly enabled: boolean
  /** Undefined when the file cannot be used. */
  readonly content:
    | { readonly usage: string; readonly message: string; readonly entries: readonly string[] }
    | undefined
}

export async function memoryStatus(context: HomeContext): Promise<MemoryStatus> {
  const { home, clock } = context
  const { config } = await loadSettings(context)
  const options = memoryStoreOptions({ home: home.path, config, clock })
  const store = createMemoryStore(options)
  const { notices } = store.snapshot()
  const files = MEMORY_TARGETS.map((target): MemoryFileStatus => {
    const result = store.read(target)
    return {
      target,
      enabled: options.disabled?.includes(target) !== true,
      content:
        result.kind === "done" ? { usage: result.usage, message: result.message, entries: result.entries } : undefined,
    }
  })
  return {
    files,
    memoryProvider: config.get("memory.provider"),
    writeApproval: config.get("memory.write_approval"),
    stagedWrites: listStagedWrites(memoryPaths(home.path).stagingPath).length,
    notices,
  }
}

/** The paths of the memory files that a reset of `target` removes. */
export function memoryFilePaths({ home }: Pick<HomeContext, "home">, target: MemoryTarget | "all"): readonly string[] {
  const { memoryPath, userPath } = memoryPaths(home.path)
  return MEMORY_TARGETS.filter((each) => target === "all" || target === each).map((each) =>
    each === "memory" ? memoryPath : userPath,
  )
}

/** Deletes memory files; stops at the first that cannot be deleted. */
export async function resetMemory(paths: readonly string[]): Promise<Result<undefined, AdminFailure>> {
  for (const path of paths) {
    const deleted = await deleteMemoryFile(path)
    if (!deleted.ok) return failed(deleted.error)
  }
  return ok(undefined)
}

/** Turns off the external memory provider and returns its name; undefined when none was in use. */
export async function turnOffMemoryProvider(context: HomeContext): Promise<Result<string | undefined, AdminFailure>> {
  const { home } = context
  const { config, environment } = await loadSettings(context)
  const memoryProvider = config.get("memory.provider")
  if (memoryProvider === "") return ok(undefined)
  const edited = await editConfig({ home, environment }, [{ path: "memory.provider", value: "" }])
  return edited.ok ? ok(memoryProvider) : edited
}
