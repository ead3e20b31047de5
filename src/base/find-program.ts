import { accessSync, constants, statSync } from "node:fs"
import { delimiter, isAbsolute, join } from "node:path"

/** The first program of this name in the directories of a `PATH`. Entries that depend on where somebody stands are passed over. */
export function findProgram(name: string, path: string): string | undefined {
  return programDirectories(path)
    .map((directory) => join(directory, name))
    .find(isProgram)
}

export function programDirectories(path: string): readonly string[] {
  return path.split(delimiter).filter((directory) => isAbsolute(directory))
}

/** A file that may be started. Directories have the same permission, and are none. */
export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    // Not there, or not for us: either way it would not run.
    return false
  }
}
