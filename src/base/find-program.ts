import { accessSync, constants, statSync } from "node:fs"
import { delimiter, isAbsolute, join } from "node:path"

/** The first program of this name in the directories of a `PATH`. Relative entries are ignored. */
export function findProgram(name: string, path: string): string | undefined {
  return programDirectories(path)
    .map((directory) => join(directory, name))
    .find(isProgram)
}

export function programDirectories(path: string): readonly string[] {
  return path.split(delimiter).filter((directory) => isAbsolute(directory))
}

/** Whether the path is an executable file. Directories can have the same permission bit. */
export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    // Missing, or not executable for this user.
    return false
  }
}
