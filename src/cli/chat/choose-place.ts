import type { ChatPlace, PlaceRequest } from "./chat-place.ts"

/** The directory the person is in, unless a worktree is asked for or the session that goes on may have had one. */
export async function choosePlace(request: PlaceRequest): Promise<ChatPlace> {
  const { app, options, resume } = request
  const wanted = options.worktree || app.config.get("worktree")
  const mayHaveOne = !options.namesCwd && resume?.cwd.includes(".worktrees") === true
  if (!wanted && !mayHaveOne) return { cwd: options.cwd }
  const { worktreePlace } = await import("./worktree-place.ts")
  return await worktreePlace(
    mayHaveOne || resume === undefined ? request : { ...request, resume: { ...resume, cwd: "" } },
  )
}
