import { currentBranch } from "../../app/services/current-branch.ts"
import { systemClock } from "../../base/clock.ts"

/** The branch may change in another window at any time; that is shown within this time. */
const VALID_MS = 1000

export interface BranchStatusOptions {
  readonly changed: () => void
  readonly read?: (directory: string) => string | undefined
  readonly clock?: Pick<typeof systemClock, "now">
  /** Runs the reading after the frame. */
  readonly later?: (work: () => void) => void
}

/**
 * The git branch for the status bar. A frame shows what was read last, and files are read between frames: on a slow file system a key would
 * be echoed late otherwise.
 */
export function createBranchStatus({
  changed,
  read = currentBranch,
  clock = systemClock,
  later = setImmediate,
}: BranchStatusOptions): (directory: string) => string | undefined {
  let known: { readonly directory: string; readonly branch: string | undefined; readonly readAt: number } | undefined
  let isReading = false
  return (directory) => {
    const isKnown = known?.directory === directory
    if (!isReading && !(isKnown && clock.now() - (known?.readAt ?? 0) < VALID_MS)) {
      isReading = true
      later(() => {
        isReading = false
        const branch = read(directory)
        const isNew = known?.directory !== directory || known.branch !== branch
        known = { directory, branch, readAt: clock.now() }
        if (isNew) changed()
      })
    }
    return isKnown ? known?.branch : undefined
  }
}
