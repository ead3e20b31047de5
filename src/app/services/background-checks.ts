/** Remembers the state of a project. */
export type BeginCheck = () => BegunCheck

export interface WriteObserver {
  /** A file tool is about to write these paths, and the user was asked about them. */
  accept(paths: readonly string[]): void
  /** The file tool has ended. From now on, what others write there is checked. */
  written(paths: readonly string[]): void
}

export interface BegunCheck extends WriteObserver {
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
  /** Before a file tool writes these paths. Call the returned function when it has ended. */
  accept(root: string, paths: readonly string[]): () => void
  /** Reports what file tools write in a project while a command runs, until the returned function is called. */
  observeWrites(root: string, observer: WriteObserver): () => void
  /** Whether at most one command runs in a project, and no background process. */
  isAlone(root: string): boolean
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
  const writes = new Set<{ readonly root: string; readonly paths: readonly string[] }>()
  const observers = new Set<{ readonly root: string; readonly observer: WriteObserver }>()
  const pending = new Set<Promise<void>>()
  const inProject = (root: string): readonly Watched[] => [...watched].filter((entry) => entry.root === root)
  const runningWrites = (project: string): readonly string[] =>
    [...writes].flatMap(({ root, paths }) => (root === project ? paths : []))
  const observersIn = (project: string): readonly WriteObserver[] =>
    [...observers].flatMap(({ root, observer }) => (root === project ? [observer] : []))
  const beginUnlessPaused = (entry: Watched): void => {
    if (!watched.has(entry) || (calls.get(entry.root) ?? 0) > 0) return
    entry.begun ??= entry.begin()
    entry.begun.accept([...entry.accepted.splice(0), ...runningWrites(entry.root)])
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
      const write = { root, paths }
      writes.add(write)
      for (const observer of observersIn(root)) observer.accept(paths)
      for (const { begun } of inProject(root)) begun?.accept(paths)
      return () => {
        writes.delete(write)
        for (const observer of observersIn(root)) observer.written(paths)
        for (const { begun, accepted } of inProject(root)) {
          if (begun === undefined) accepted.push(...paths)
          else begun.written(paths)
        }
      }
    },
    observeWrites: (root, observer) => {
      const entry = { root, observer }
      observers.add(entry)
      observer.accept(runningWrites(root))
      return () => {
        observers.delete(entry)
      }
    },
    isAlone: (root) => (calls.get(root) ?? 0) <= 1 && inProject(root).length === 0,
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
