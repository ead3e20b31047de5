import { chmodSync, lstatSync, readdirSync } from "node:fs"
import { join } from "node:path"
import type { Home } from "./home.ts"

export interface ExposedFile {
  readonly path: string
  /** Its permission bits. */
  readonly mode: number
}

/** Files with secrets that other users can read. */
export function exposedSecretFiles(home: Home): readonly ExposedFile[] {
  if (process.platform === "win32") return []
  return SECRET_FILES.flatMap(({ directory, name }) => matching(home.file(directory), name)).flatMap(
    (path): ExposedFile[] => {
      const stats = lstatSync(path, { throwIfNoEntry: false })
      return stats?.isFile() === true && (stats.mode & 0o077) !== 0 ? [{ path, mode: stats.mode & 0o777 }] : []
    },
  )
}

/** Removes all permissions of group and others. Throws the system error. */
export function restrictSecretFile({ path, mode }: ExposedFile): void {
  chmodSync(path, mode & 0o700)
}

const SECRET_FILES: readonly { readonly directory: string; readonly name: RegExp }[] = [
  { directory: "", name: /^(?:\.env|config\.yaml|auth\.json|shell-hooks-allowlist\.json|permissions\.yaml)$/ },
  { directory: "", name: /^(?:state\.db.*|auth\.json\.corrupt.*|config\.yaml\.(?:bak|corrupt)\..*)$/ },
  { directory: "cache", name: /^config\.parsed\.json$/ },
  { directory: "pastes", name: /./ },
  { directory: "sessions", name: /^request_dump_/ },
]

function matching(directory: string, name: RegExp): string[] {
  try {
    return readdirSync(directory)
      .filter((entry) => name.test(entry))
      .map((entry) => join(directory, entry))
  } catch {
    // A directory that is missing or not readable has no secrets of ours.
    return []
  }
}
