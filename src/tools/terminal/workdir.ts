import type { FileSystem } from "../../exec/workspace.ts"
import { explainSystemError } from "../../base/system-error.ts"

/** Why a command cannot start in a directory, or undefined when it can. */
export async function workdirRefusal(workdir: string, files: FileSystem): Promise<string | undefined> {
  const odd = forbiddenCharacter(workdir)
  if (odd !== undefined) return `workdir contains ${JSON.stringify(odd)}, which is not allowed there`
  try {
    const found = await files.stat(workdir)
    if (found === undefined) return `the working directory ${workdir} does not exist`
    return found.kind === "directory" ? undefined : `the working directory ${workdir} is not a directory`
  } catch (error) {
    return `the working directory ${workdir} cannot be used: ${explainSystemError(error)}`
  }
}

/** The first character that a shell could interpret on a remote machine. */
export function forbiddenCharacter(workdir: string): string | undefined {
  return /[^\p{L}\p{M}\p{N}/\\:_\-.~ +@=,]/u.exec(workdir)?.[0]
}
