import { commandEnvironment } from "../../exec/command-environment.ts"
import { createGit } from "../../exec/worktrees/git.ts"
import type { Git } from "../../exec/worktrees/git.ts"
import { createWorktree, reopenWorktree } from "../../exec/worktrees/open-worktree.ts"
import { leaveWorktree } from "../../exec/worktrees/remove-worktree.ts"
import { sandboxPlaces } from "../../exec/worktrees/sandbox-places.ts"
import { isWorktreePath } from "../../exec/worktrees/worktree.ts"
import type { Worktree } from "../../exec/worktrees/worktree.ts"
import { CliError } from "../command.ts"
import { asSentence } from "../sentence.ts"
import type { ChatPlace, PlaceRequest } from "./chat-place.ts"

const LEAVE_MS = 30_000

/** The worktree a session worked in, a fresh one where one is asked for, or the directory the person is in. */
export async function worktreePlace(request: PlaceRequest): Promise<ChatPlace> {
  const { app, options, resume, signal } = request
  const git = createGit(commandEnvironment(request.environment.toObject(), { passthrough: [], set: {} }))
  const tools = { git, clock: app.clock, signal }
  const former = resume !== undefined && isWorktreePath(resume.cwd) ? resume.cwd : undefined
  if (former !== undefined) {
    const found = await reopenWorktree(former, tools)
    if (found !== undefined) return inWorktree(found, request, git)
    request.terminal.errLine(`The worktree of this conversation, ${former}, does not exist any more.`)
  }
  const fresh = await freshWorktree(request, git)
  if (fresh === undefined && former === undefined) return { cwd: options.cwd }
  const cwd = fresh?.path ?? options.cwd
  if (resume !== undefined) await (await app.store()).setDirectory(resume.id, cwd)
  if (fresh !== undefined) return inWorktree(fresh, request, git, former)
  return { cwd, aboutResumed: goneText(former ?? "", cwd) }
}

/** Undefined where none is made: outside a repository when only the settings ask for one, and where files are elsewhere. */
async function freshWorktree(request: PlaceRequest, git: Git): Promise<Worktree | undefined> {
  const { app, options, terminal, signal } = request
  if (!options.worktree && !app.config.get("worktree")) return undefined
  const backend = app.config.get("terminal.backend")
  if (backend !== "local") {
    if (!options.worktree) return undefined
    throw new CliError(
      `A worktree is on this machine, but terminal.backend is ${backend}: set it to local, or leave --worktree out.`,
      { exitCode: 1 },
    )
  }
  const created = await createWorktree(options.cwd, { git, clock: app.clock, signal })
  if (!created.ok) {
    if (created.error.kind === "outside" && !options.worktree) return undefined
    const way = options.worktree ? "leave --worktree out" : "set worktree to false"
    throw new CliError(`No worktree: ${created.error.message}, or ${way}.`, { exitCode: 1 })
  }
  const { worktree, warnings, kept } = created.value
  for (const warning of warnings) terminal.errLine(asSentence(warning))
  if (kept.length > 0 && options.mode !== "script")
    terminal.errLine(
      `Older worktrees with work in them are kept: ${shortList(kept)}. \`git worktree remove\` takes one away.`,
    )
  return worktree
}

function inWorktree(worktree: Worktree, { terminal }: PlaceRequest, git: Git, former?: string): ChatPlace {
  const about = worktreeText(worktree)
  return {
    cwd: worktree.path,
    walls: sandboxPlaces(worktree),
    about,
    ...(former === undefined
      ? {}
      : { aboutResumed: `${about}\nThe former worktree ${former} does not exist any more.` }),
    leave: async () => {
      const left = await leaveWorktree(worktree, git, AbortSignal.timeout(LEAVE_MS))
      if (left.kind === "kept") terminal.errLine(`Kept ${worktree.path} (branch ${worktree.branch}): ${left.what}.`)
    },
  }
}

/** The first line says which worktree it is; a resumed session is told only what it has not heard. */
function worktreeText({ path, branch, root, startedIn, included }: Worktree): string {
  return [
    `You work in a git worktree of its own: ${path}, branch ${branch}, made from the repository ${root}.`,
    `Change files only in it and commit on this branch; leave the checkout in ${root} and other branches alone.`,
    ...(startedIn === "" ? [] : [`The person started in the folder ${startedIn}.`]),
    ...(included.length === 0 ? [] : [`Taken over from there, not to be committed: ${shortList(included)}.`]),
  ].join("\n")
}

const MAX_LISTED = 20

function shortList(names: readonly string[]): string {
  const more = names.length - MAX_LISTED
  return [...names.slice(0, MAX_LISTED), ...(more > 0 ? [`and ${more} more`] : [])].join(", ")
}

function goneText(former: string, cwd: string): string {
  return `The worktree ${former} that this conversation worked in does not exist any more; the working directory is now ${cwd}.`
}
