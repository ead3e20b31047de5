import { errorMessage } from "../../base/system-error.ts"
import { checkHooks, checkNewRepositories } from "./new-repositories.ts"
import type { ExecutedFiles, ExecutedFilesOptions } from "./executed-files.ts"
import type { KnownContents } from "./file-state.ts"
import { isNearRoot } from "../project/git-repositories.ts"
import { recordExecutedFiles } from "./interrupted-checks.ts"
import { checkNewLinks } from "./new-links.ts"
import { checkNewFiles } from "./new-project-files.ts"
import { noticeText, noticeTexts } from "./notice-text.ts"
import type { ProjectSearch } from "../project/project-index.ts"
import type { SubmoduleLookup } from "../project/submodule-paths.ts"
import { renameUndecodable } from "./undecodable-names.ts"
import { createWorkingTreeChanges } from "./working-tree-changes.ts"

export interface ProjectCheckOptions {
  readonly hermesHome: string
  readonly root: string
  /** The last search of the project that has begun. */
  readonly search: ProjectSearch | Promise<ProjectSearch>
  /** Known repositories. Grows by the ones that are found. */
  readonly repositories: Set<string>
  /** Those of them that were not there before the session. Grows, too. */
  readonly created: Set<string>
  /** What checks of this session have undone. Grows. */
  readonly undone: Set<string>
  readonly searchAgain: () => Promise<ProjectSearch>
  readonly submodules: SubmoduleLookup
  /** What the user is notified of only once in a session. Grows. */
  readonly reported: Set<string>
  readonly files: ExecutedFilesOptions
  /** What files contain, from earlier checks. Grows. */
  readonly contents: KnownContents
  /** What files contained that git removed from the working tree. Grows. */
  readonly removed: Map<string, Buffer>
  /** The variable `PATH`, to find git. */
  readonly searchPath: string
  /** Whether no other command or program of Hermes ran in the project at the same time. */
  readonly isAlone: () => boolean
  /** The check before: set while background processes run. */
  readonly previous?: PreviousCheck | undefined
}

/** The times are in milliseconds since 1970. */
interface PreviousCheck {
  readonly check: ProjectCheck
  /** When the last search began. */
  readonly searchedMs: number
  /** When the last search began after which the repositories were checked. */
  readonly checkedMs: number
}

/** What commands leave behind in a project: begins before they run. The texts are for the user. */
export interface ProjectCheck {
  readonly executedFiles: ExecutedFiles
  /** Compares the files that were remembered. */
  checkFiles(): readonly string[]
  /** Looks for new files and repositories elsewhere in the project. */
  checkProject(after: ProjectSearch): Promise<readonly string[]>
  /** A sentence for the user about what git changed, after the checks. */
  changedByGit(): readonly string[]
  /** Deletes the record on the disk, which is for the case that Hermes is killed. Call it when the texts are kept. */
  finished(): void
}

const TOO_MANY_DIRECTORIES =
  "A command created so many directories or links, or such deep ones, that Hermes did not look into all of them for files that other programs execute. Check them, or remove them."

export function beginProjectCheck({
  hermesHome,
  root,
  search,
  repositories,
  created,
  undone,
  searchAgain,
  submodules,
  reported,
  files: options,
  contents,
  removed,
  searchPath,
  isAlone,
  previous,
}: ProjectCheckOptions): ProjectCheck {
  const { writable } = options
  const startedMs = previous?.searchedMs ?? Date.now()
  const deep = [...repositories].filter((directory) => !isNearRoot(directory, root))
  const files = recordExecutedFiles(
    hermesHome,
    { options, root, repositories: [...repositories], created: [...created] },
    { previous: previous?.check.executedFiles, startedMs, contents },
  )
  const tree = createWorkingTreeChanges(
    { root, repositories: [...repositories], removed, searchPath, isAlone },
    options,
  )
  return {
    executedFiles: files,
    checkFiles: () => noticeTexts(files.check(tree)),
    checkProject: async (after) => {
      const before = await search
      const { search: now, texts: renamed } = await renameUndecodable(after, {
        before,
        searchAgain,
        isFromGit: options.treeLines !== undefined,
        writable,
        startedMs,
        reported,
      })
      const { isComplete: wasComplete } = before
      const known = {
        root,
        known: repositories,
        created,
        remembered: files.remembered,
        opened: options.opened,
        writable,
        startedMs: previous?.checkedMs ?? startedMs,
        wasComplete,
        submodules,
        reported,
      }
      return noticeTexts([
        ...(wasComplete && !now.isComplete ? [TOO_MANY_DIRECTORIES] : []),
        ...renamed,
        ...(await attempt(() => checkNewFiles(now, { root, search: before, startedMs, undone, tree }, options))),
        ...(await attempt(() => checkNewLinks(now, { root, startedMs, writable, keepsNew: options.keepsNew }))),
        ...(await attempt(() => checkHooks(deep, { sinceMs: startedMs, writable }))),
        ...(await attempt(() => checkNewRepositories(known, now))),
      ])
    },
    changedByGit: () => {
      const text = tree.takeByGit()
      return text === undefined ? [] : [noticeText(text)]
    },
    finished: () => {
      files.finished()
    },
  }
}

/** A part of a check that fails must not prevent the others. */
async function attempt(check: () => readonly string[] | Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await check()
  } catch (error) {
    return [
      `A part of the project could not be checked after a command: ${errorMessage(error)}. Check what the command created before you use it.`,
    ]
  }
}
