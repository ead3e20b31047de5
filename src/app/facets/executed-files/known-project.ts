import type { ProjectIndex, ProjectSearch } from "../../../exec/sandbox/project-index.ts"

/** What Hermes knows about the directories of a project. */
export interface KnownProject {
  /** Searches the project for the first time. A later call does nothing. */
  prepare(signal: AbortSignal): Promise<void>
  /** Begins another search. */
  search(): Promise<ProjectSearch>
  /** The next command waits for another search. */
  refresh(): void
  known(): Promise<{ readonly search: ProjectSearch; readonly repositories: Set<string> }>
  /** The last search that has begun, and when, in milliseconds since 1970. */
  last(): Promise<ProjectSearch> | undefined
  searchedMs(): number
}

export function createKnownProject(root: string): KnownProject {
  const openedMs = Date.now()
  let index: ProjectIndex | undefined
  let searchedMs = 0
  let searching: Promise<ProjectSearch> | undefined
  /** Filled by the first search, and by the checks after commands. */
  let repositories: Set<string> | undefined
  const update = async (signal?: AbortSignal): Promise<ProjectSearch> => {
    searchedMs = Date.now()
    const { createProjectIndex } = await import("../../../exec/sandbox/project-index.ts")
    index ??= createProjectIndex(root, undefined, openedMs)
    return await index.update(signal)
  }
  return {
    prepare: async (signal) => {
      if (searching !== undefined) return
      const first = update(signal)
      searching = first
      await first
      // An aborted one is not complete.
      if (signal.aborted && searching === first) searching = undefined
    },
    search: () => (searching = update()),
    refresh: () => {
      searching = update()
    },
    known: async () => {
      const search = await (searching ??= update())
      if (repositories === undefined) {
        const { isRepositoryDirectory } = await import("../../../exec/sandbox/git-repositories.ts")
        repositories ??= new Set([...search.found.keys()].filter(isRepositoryDirectory))
      }
      return { search, repositories }
    },
    last: () => searching,
    searchedMs: () => searchedMs,
  }
}
