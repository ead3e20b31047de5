import { lazy } from "../../../base/lazy.ts"
import type { ProjectIndex, ProjectSearch } from "../../../exec/project/project-index.ts"
import type { SubmoduleLookup } from "../../../exec/project/submodule-paths.ts"

/** What Hermes knows about the directories of a project. */
export interface KnownProject {
  /** Searches the project for the first time. A later call does nothing. */
  prepare(signal: AbortSignal): Promise<void>
  /** Begins another search, for a check. */
  search(): Promise<ProjectSearch>
  /** The next command waits for another search. */
  refresh(): void
  known(): Promise<{
    readonly search: ProjectSearch
    readonly repositories: Set<string>
    readonly submodules: SubmoduleLookup
  }>
  /** The last search that has begun, and when, in milliseconds since 1970. */
  last(): Promise<ProjectSearch> | undefined
  searchedMs(): number
  /** When the last search for a check has begun. What changed later is not checked yet. */
  checkedMs(): number
}

/** `searchPath` is the variable `PATH`, to find git. */
export function createKnownProject(root: string, searchPath: string): KnownProject {
  const openedMs = Date.now()
  let index: ProjectIndex | undefined
  let searchedMs = 0
  let checkedMs = openedMs
  let searching: Promise<ProjectSearch> | undefined
  /** Filled by the first search, and by the checks after commands. */
  let repositories: Set<string> | undefined
  const submoduleLookup = lazy(async () => {
    const { createSubmoduleLookup } = await import("../../../exec/project/submodule-paths.ts")
    return createSubmoduleLookup(searchPath)
  })
  const update = async (signal?: AbortSignal): Promise<ProjectSearch> => {
    searchedMs = Date.now()
    const { createProjectIndex } = await import("../../../exec/project/project-index.ts")
    index ??= createProjectIndex(root, undefined, openedMs)
    return await index.update(signal)
  }
  const repositoriesIn = async (search: ProjectSearch, signal?: AbortSignal): Promise<Set<string>> => {
    if (repositories !== undefined) return repositories
    const [{ findKnownRepositories }, submodules] = await Promise.all([
      import("../../../exec/project-check/new-repositories.ts"),
      submoduleLookup(),
    ])
    const found = await findKnownRepositories(search, { root, submodules, signal })
    return signal?.aborted === true ? found : (repositories ??= found)
  }
  return {
    prepare: async (signal) => {
      if (searching !== undefined) return
      const first = update(signal)
      searching = first
      await first
      // An aborted one is not complete.
      if (!signal.aborted) await repositoriesIn(await first, signal)
      else if (searching === first) searching = undefined
    },
    search: () => {
      searching = update()
      checkedMs = searchedMs
      return searching
    },
    refresh: () => {
      searching = update()
    },
    known: async () => {
      const search = await (searching ??= update())
      return { search, repositories: await repositoriesIn(search), submodules: await submoduleLookup() }
    },
    last: () => searching,
    searchedMs: () => searchedMs,
    checkedMs: () => checkedMs,
  }
}
