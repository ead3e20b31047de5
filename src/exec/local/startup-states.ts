import { statSync } from "node:fs"
import { join } from "node:path"

/** Files that a start-up file sources may change unnoticed, so the state is not used for longer than this. */
const MAX_AGE_MS = 60_000
const MAX_STATES = 8

/** The shell state that the user's start-up files leave, shared by conversations that would get the same one. */
export interface StartupStates {
  /**
   * Returns the state for the key, and calls `capture` if there is none or only an old one. Callers with the same key wait for the same
   * capture; if it fails, each of them makes its own.
   */
  get(key: string, capture: () => Promise<string | undefined>): Promise<string | undefined>
}

export function createStartupStates(now: () => number = Date.now): StartupStates {
  const states = new Map<string, { readonly takenAt: number; readonly state: Promise<string | undefined> }>()
  return {
    get: async (key, capture) => {
      for (const [other, { takenAt }] of states) if (now() - takenAt >= MAX_AGE_MS) states.delete(other)
      const known = states.get(key)
      if (known !== undefined) return (await known.state) ?? (await capture())
      const entry = { takenAt: now(), state: capture() }
      states.set(key, entry)
      for (const oldest of states.keys()) if (states.size > MAX_STATES) states.delete(oldest)
      const state = await entry.state
      if (state === undefined && states.get(key) === entry) states.delete(key)
      return state
    },
  }
}

/** Identifies the current content of start-up files. */
export function startupFileVersions(files: readonly string[], userHome: string): readonly string[] {
  return files.map((file) => {
    const facts = statSync(file.startsWith("~/") ? join(userHome, file.slice(2)) : file, { throwIfNoEntry: false })
    return facts === undefined ? file : `${file}:${facts.ino}:${facts.size}:${facts.mtimeMs}`
  })
}
