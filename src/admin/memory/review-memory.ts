import { fail, ok, type Result } from "../../base/result.ts"
import { MEMORY_TARGETS, memoryPaths, type MemoryTarget } from "../../knowledge/memory/memory-file.ts"
import { memoryStoreOptions } from "../../knowledge/memory/memory-settings.ts"
import { createMemoryStore, type MemoryResult, type MemoryStore } from "../../knowledge/memory/memory-store.ts"
import {
  applyStagedWrite,
  discardStagedWrite,
  listStagedWrites,
  type StagedWrite,
} from "../../knowledge/memory/staged-writes.ts"
import type { LoadedHome } from "../loaded-home.ts"

export type MemoryContext = Pick<LoadedHome, "home" | "config" | "clock">

export interface MemoryFileEntries {
  readonly target: MemoryTarget
  /** Fails with the reason why the file cannot be used. */
  readonly content: Result<{
    readonly entries: readonly string[]
    /** Share of the size limit, and number of entries, as text. */
    readonly usage: string
    readonly message: string
  }>
}

/** Reads both memory files. */
export function readMemoryFiles(context: MemoryContext): readonly MemoryFileEntries[] {
  const store = openStore(context)
  return MEMORY_TARGETS.map((target) => {
    const result = store.read(target)
    return { target, content: result.kind === "done" ? ok(result) : fail(reasonOf(result)) }
  })
}

/** The changes that wait for the user's approval (`memory.write_approval`), oldest first. */
export function listPendingMemoryChanges({ home }: Pick<MemoryContext, "home">): readonly StagedWrite[] {
  return listStagedWrites(memoryPaths(home.path).stagingPath)
}

/** Carries out a pending change. On failure it stays pending. */
export async function approveMemoryChange(context: MemoryContext, id: string): Promise<Result<undefined>> {
  const { stagingPath } = memoryPaths(context.home.path)
  const result = await applyStagedWrite(stagingPath, id, openStore(context))
  return result.kind === "done" ? ok(undefined) : fail(reasonOf(result))
}

/** Deletes a pending change. Returns false when it could not be deleted. */
export function discardMemoryChange({ home }: Pick<MemoryContext, "home">, id: string): boolean {
  return discardStagedWrite(memoryPaths(home.path).stagingPath, id)
}

/** A store that writes at once, because the user is the one who approves. */
function openStore({ home, config, clock }: MemoryContext): MemoryStore {
  const { stage: _stage, ...options } = memoryStoreOptions({ home: home.path, config, clock })
  return createMemoryStore(options)
}

function reasonOf(result: Exclude<MemoryResult, { kind: "done" }>): string {
  return result.kind === "refused" ? result.error : ""
}
