import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Services } from "../services/services.ts"
import { plainDirectory } from "./working-directory.ts"
import type { WorkingDirectory, WorkingDirectoryRequest } from "./working-directory.ts"

/** The user's directory, unless a worktree was requested or the resumed session had one. */
export async function openWorkingDirectory(
  request: WorkingDirectoryRequest,
  services: Services,
): Promise<Result<WorkingDirectory>> {
  const { resume } = request
  const isRequested = request.worktree || services.config.get("worktree")
  const mayHaveOne = !request.isCwdNamed && resume?.cwd.includes(".worktrees") === true
  if (!isRequested && !mayHaveOne) return ok(plainDirectory(request.cwd))
  const { openWorktreeDirectory } = await import("./worktree-directory.ts")
  return await openWorktreeDirectory(
    mayHaveOne || resume === undefined ? request : { ...request, resume: { ...resume, cwd: "" } },
    services,
  )
}
