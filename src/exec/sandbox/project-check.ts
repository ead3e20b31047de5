import { checkHooks, checkNewRepositories } from "./new-repositories.ts"
import type { ExecutedFiles, ExecutedFilesOptions } from "./executed-files.ts"
import { isNearRoot } from "./git-repositories.ts"
import { recordExecutedFiles } from "./interrupted-checks.ts"
import { checkNewFiles } from "./new-project-files.ts"
import { noticeText } from "./notice-text.ts"
import type { ProjectSearch } from "./project-index.ts"

export interface ProjectCheckOptions {
  readonly hermesHome: string
  readonly root: string
  /** The last search of the project that has begun. */
  readonly search: ProjectSearch | Promise<ProjectSearch>
  /** Known repositories. Grows by the ones that are found. */
  readonly repositories: Set<string>
  /** What checks of this session have undone. Grows. */
  readonly undone: Set<string>
  /** Returns the submodules that an index of git lists. */
  readonly submodules: (indexFile: string) => readonly string[]
  readonly files: ExecutedFilesOptions
  /** The check before, and when its search began, in milliseconds since 1970: set while background processes run. */
  readonly previous?: { readonly check: ProjectCheck; readonly searchedMs: number } | undefined
}

/** What commands leave behind in a project: begins before they run. The texts are for the user. */
export interface ProjectCheck {
  readonly executedFiles: ExecutedFiles
  /** Compares the files that were remembered. */
  checkFiles(): readonly string[]
  /** Looks for new files and repositories elsewhere in the project. */
  checkProject(after: ProjectSearch): Promise<readonly string[]>
  /** Deletes the record on the disk, which is for the case that Hermes is killed. Call it when the texts are kept. */
  finished(): void
}

export function beginProjectCheck({
  hermesHome,
  root,
  search,
  repositories,
  undone,
  submodules,
  files: options,
  previous,
}: ProjectCheckOptions): ProjectCheck {
  const { writable } = options
  const startedMs = previous?.searchedMs ?? Date.now()
  const deep = [...repositories].filter((directory) => !isNearRoot(directory, root))
  const files = recordExecutedFiles(
    hermesHome,
    { options, root, repositories: [...repositories] },
    { previous: previous?.check.executedFiles, startedMs },
  )
  return {
    executedFiles: files,
    checkFiles: () => files.check().map(noticeText),
    checkProject: async (after) => {
      const before = await search
      const changedSinceMs = before.isComplete ? undefined : startedMs
      const texts = [
        ...(await checkNewFiles(after, { root, search: before, startedMs, undone }, options)),
        ...checkHooks(deep, { sinceMs: startedMs, writable }),
        ...checkNewRepositories({ root, known: repositories, writable, changedSinceMs, submodules }, after),
      ]
      return texts.map(noticeText)
    },
    finished: () => {
      files.finished()
    },
  }
}
