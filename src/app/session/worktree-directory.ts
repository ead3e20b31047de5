import { asSentence } from "../../base/sentence.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { commandEnvironment } from "../../exec/command-environment.ts"
import { createGit } from "../../exec/worktrees/git.ts"
import type { Git } from "../../exec/worktrees/git.ts"
import { createWorktree, reopenWorktree } from "../../exec/worktrees/open-worktree.ts"
import { closeWorktree } from "../../exec/worktrees/remove-worktree.ts"
import { sandboxMounts } from "../../exec/worktrees/sandbox-mounts.ts"
import { isWorktreePath } from "../../exec/worktrees/worktree.ts"
import type { Worktree } from "../../exec/worktrees/worktree.ts"
import type { Services } from "../services/services.ts"
import { plainDirectory } from "./working-directory.ts"
import type { WorkingDirectory, WorkingDirectoryRequest } from "./working-directory.ts"

const CLOSE_MS = 30_000

/** The worktree of the resumed session, a new one if one is requested, or the user's directory. */
export async function openWorktreeDirectory(
  request: WorkingDirectoryRequest,
  services: Services,
): Promise<Result<WorkingDirectory>> {
  const { resume, signal } = request
  const git = createGit(commandEnvironment(services.environment.toObject(), { passthrough: [], set: {} }))
  const former = resume !== undefined && isWorktreePath(resume.cwd) ? resume.cwd : undefined
  if (former !== undefined) {
    const found = await reopenWorktree(former, { git, clock: services.clock, signal })
    if (found !== undefined) return ok(inWorktree(found, git, { warnings: [], hints: [] }))
  }
  const gone = former === undefined ? [] : [`The worktree of this conversation, ${former}, no longer exists.`]
  const created = await requestedWorktree(request, git, services)
  if (!created.ok) return fail([...gone, created.error].join(" "))
  const { worktree, warnings, hints } = created.value
  if (worktree === undefined && former === undefined) return ok(plainDirectory(request.cwd))
  const cwd = worktree?.path ?? request.cwd
  if (resume !== undefined) await (await services.store()).setDirectory(resume.id, cwd)
  if (worktree !== undefined) return ok(inWorktree(worktree, git, { warnings: [...gone, ...warnings], hints, former }))
  const noteForResumed = `The worktree ${former} of this conversation no longer exists.`
  return ok(plainDirectory(cwd, { noteForResumed, warnings: gone }))
}

interface RequestedWorktree extends Pick<WorkingDirectory, "warnings" | "hints"> {
  readonly worktree?: Worktree
}

const NONE: RequestedWorktree = { warnings: [], hints: [] }

/** Returns no worktree when only the settings ask for one and there is no repository, or the workspace is not on this machine. */
async function requestedWorktree(
  request: WorkingDirectoryRequest,
  git: Git,
  { config, clock }: Services,
): Promise<Result<RequestedWorktree>> {
  if (!request.worktree && !config.get("worktree")) return ok(NONE)
  const backend = config.get("terminal.backend")
  if (backend !== "local") {
    return request.worktree
      ? fail(`A worktree is on this machine, but terminal.backend is ${backend}: set it to local, or omit --worktree.`)
      : ok(NONE)
  }
  const created = await createWorktree(request.cwd, { git, clock, signal: request.signal })
  if (!created.ok) {
    if (created.error.kind === "outside" && !request.worktree) return ok(NONE)
    const fix = request.worktree ? "omit --worktree" : "set worktree to false"
    return fail(`No worktree: ${created.error.message}, or ${fix}.`)
  }
  const { worktree, warnings, kept } = created.value
  const older = `Older worktrees with work in them are kept: ${shortList(kept)}. Remove one with \`git worktree remove\`.`
  return ok({ worktree, warnings: warnings.map(asSentence), hints: kept.length === 0 ? [] : [older] })
}

function inWorktree(
  worktree: Worktree,
  git: Git,
  { former, ...messages }: Pick<WorkingDirectory, "warnings" | "hints"> & { readonly former?: string | undefined },
): WorkingDirectory {
  const note = worktreeNote(worktree)
  return {
    cwd: worktree.path,
    branch: worktree.branch,
    sandboxPaths: sandboxMounts(worktree),
    note,
    ...(former === undefined ? {} : { noteForResumed: `${note}\nThe former worktree ${former} no longer exists.` }),
    ...messages,
    close: async () => {
      const left = await closeWorktree(worktree, git, AbortSignal.timeout(CLOSE_MS))
      return left.kind === "kept" ? `Kept ${worktree.path} (branch ${worktree.branch}): ${left.what}.` : undefined
    },
  }
}

/** The first line identifies the worktree: a resumed session gets the note again only if that line is new to it. */
function worktreeNote({ path, branch, root, subdirectory, included }: Worktree): string {
  return [
    `You work in a separate git worktree: ${path}, branch ${branch}, created from the repository ${root}.`,
    `Change files only there and commit on this branch; leave the checkout in ${root} and other branches alone.`,
    ...(subdirectory === "" ? [] : [`The user started in the subdirectory ${subdirectory}.`]),
    ...(included.length === 0 ? [] : [`Copied from there, not to be committed: ${shortList(included)}.`]),
  ].join("\n")
}

const MAX_LISTED = 20

function shortList(names: readonly string[]): string {
  const more = names.length - MAX_LISTED
  return [...names.slice(0, MAX_LISTED), ...(more > 0 ? [`and ${more} more`] : [])].join(", ")
}
