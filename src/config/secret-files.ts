import { chmodSync, lstatSync, readdirSync } from "node:fs"
import { join } from "node:path"
import type { Home } from "./home.ts"

export interface LooseFile {
  readonly path: string
  /** Its permission bits. */
  readonly mode: number
}

/** Files that hold secrets and that somebody other than the owner can read. */
export function looseSecretFiles(home: Home): readonly LooseFile[] {
  if (process.platform === "win32") return []
  return SECRET_PLACES.flatMap(({ folder, name }) => matching(home.file(folder), name)).flatMap((path): LooseFile[] => {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    return stats?.isFile() === true && (stats.mode & 0o077) !== 0 ? [{ path, mode: stats.mode & 0o777 }] : []
  })
}

/** Takes the file away from everybody but its owner. Throws the system error. */
export function closeSecretFile({ path, mode }: LooseFile): void {
  chmodSync(path, mode & 0o700)
}

const SECRET_PLACES: readonly { readonly folder: string; readonly name: RegExp }[] = [
  { folder: "", name: /^(?:\.env|config\.yaml|auth\.json|shell-hooks-allowlist\.json|permissions\.yaml)$/ },
  { folder: "", name: /^(?:state\.db.*|auth\.json\.corrupt|config\.yaml\.(?:bak|corrupt)\..*)$/ },
  { folder: "cache", name: /^config\.parsed\.json$/ },
  { folder: "pastes", name: /./ },
  { folder: "sessions", name: /^request_dump_/ },
]

function matching(folder: string, name: RegExp): string[] {
  try {
    return readdirSync(folder)
      .filter((entry) => name.test(entry))
      .map((entry) => join(folder, entry))
  } catch {
    // A folder that is not there, or not ours to read, holds no secret of ours.
    return []
  }
}
