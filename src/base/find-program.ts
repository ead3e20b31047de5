import { accessSync, constants, realpathSync, statSync } from "node:fs"
import { delimiter, dirname, isAbsolute, join } from "node:path"

/** The first program of this name in the directories of a `PATH`. Relative entries are ignored. */
export function findProgram(name: string, path: string): string | undefined {
  return programDirectories(path)
    .map((directory) => join(directory, name))
    .find(isProgram)
}

/**
 * The first program of this name that only an administrator can have installed, with links resolved. Hermes runs its own helpers outside
 * the sandbox, and a directory of the PATH that commands can write could contain anything.
 */
export function findTrustedProgram(name: string, path: string): string | undefined {
  for (const directory of programDirectories(path)) {
    const found = join(directory, name)
    if (!isProgram(found)) continue
    const real = trustedPath(found)
    if (real !== undefined) return real
  }
  return undefined
}

/** The directories of a PATH that only an administrator can write, for programs that start others. */
export function trustedDirectories(path: string): string {
  return programDirectories(path)
    .flatMap((directory) => trustedPath(directory) ?? [])
    .join(delimiter)
}

/** The path with links resolved, if it and every directory above it belong to root and nobody else may write them. */
function trustedPath(path: string): string | undefined {
  try {
    const real = realpathSync.native(path)
    if (process.getuid === undefined) return real
    // Root can write everywhere, so that ownership says nothing: only the directories of the system count.
    if (
      process.getuid() === 0 &&
      !SYSTEM_DIRECTORIES.some((system) => real.startsWith(`${system}/`) || real === system)
    )
      return undefined
    return isOnlyForRoot(real) ? real : undefined
  } catch {
    // It does not exist.
    return undefined
  }
}

/** Stores whose group may add packages but not change them. */
const PACKAGE_STORES = ["/nix/store", "/gnu/store"]

const SYSTEM_DIRECTORIES = [
  "/bin",
  "/sbin",
  "/lib",
  "/usr/bin",
  "/usr/sbin",
  "/usr/lib",
  "/usr/libexec",
  "/usr/local/bin",
  "/usr/local/sbin",
  "/snap/bin",
  ...PACKAGE_STORES,
]

function isOnlyForRoot(path: string): boolean {
  const { uid, mode } = statSync(path)
  const isStore = PACKAGE_STORES.includes(path)
  if (uid !== 0 || ((mode & 0o022) !== 0 && !isStore)) return false
  return dirname(path) === path || isOnlyForRoot(dirname(path))
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
