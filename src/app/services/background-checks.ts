/** Remembers the state of a project. */
export type BeginCheck = () => BegunCheck

export interface BegunCheck {
  /** A file tool is about to write these paths, and the user was asked about them. */
  accept(paths: readonly string[]): void
  /** Checks what has changed since. Called once. */
  check(): Promise<void>
}

/**
 * Checks what background processes write while no call runs. A call has its own check, with what the user allowed it, so that the checks here
 * pause for it and begin again with what it left.
 */
export interface BackgroundChecks {
  /** Before a call in a project: checks what was written so far. Call the returned function when the call has ended. */
  pause(root: string): Promise<() => void>
  accept(root: string, paths: readonly string[]): void
  /** Begins when a background process has started in a project. */
  watch(root: string, begin: BeginCheck): BackgroundCheck
  /** Keeps `settled` waiting. */
  track(work: Promise<void>): void
  settled(): Promise<void>
}

export interface BackgroundCheck {
  /** Checks now and goes on. */
  check(): Promise<void>
  end(): Promise<void>
}

export function createBackgroundChecks(): BackgroundChecks {
  const watched = new Set<Watched>()
  const calls = new Map<string, number>()
  const pending = new Set<Promise<void>>()
  const inProject = (root: string): readonly Watched[] => [...watched].filter((entry) => entry.root === root)
  const beginUnlessPaused = (entry: Watched): void => {
    if (!watched.has(entry) || (calls.get(entry.root) ?? 0) > 0) return
    entry.begun ??= entry.begin()
    entry.begun.accept(entry.accepted.splice(0))
  }
  return {
    pause: async (root) => {
      calls.set(root, (calls.get(root) ?? 0) + 1)
      await Promise.all(inProject(root).map(checkBegun))
      return () => {
        calls.set(root, (calls.get(root) ?? 1) - 1)
        for (const entry of inProject(root)) beginUnlessPaused(entry)
      }
    },
    accept: (root, paths) => {
      for (const { begun, accepted } of inProject(root)) {
        if (begun === undefined) accepted.push(...paths)
        else begun.accept(paths)
      }
    },
    watch: (root, begin) => {
      const entry: Watched = { root, begin, begun: undefined, accepted: [] }
      let last = Promise.resolve()
      /** Several processes may exit at the same time. */
      const inTurn = (work: () => Promise<void>): Promise<void> => (last = last.then(work))
      watched.add(entry)
      beginUnlessPaused(entry)
      return {
        check: () =>
          inTurn(async () => {
            await checkBegun(entry)
            beginUnlessPaused(entry)
          }),
        end: () =>
          inTurn(async () => {
            watched.delete(entry)
            await checkBegun(entry)
          }),
      }
    },
    track: (work) => {
      const tracked = work.finally(() => pending.delete(tracked))
      pending.add(tracked)
    },
    settled: async () => {
      await Promise.allSettled(pending)
    },
  }
}

interface Watched {
  readonly root: string
  readonly begin: BeginCheck
  /** Undefined while a call runs, and during a check. */
  begun: BegunCheck | undefined
  /** For the next one that begins. */
  readonly accepted: string[]
}

async function checkBegun(entry: Watched): Promise<void> {
  const { begun } = entry
  entry.begun = undefined
  await begun?.check()
}
