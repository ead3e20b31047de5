import { posix } from "node:path"
import { isWithin } from "../file-floor.ts"
import type { ShellWord, UnderstoodCommand } from "../shell/understood-command.ts"
import { absolutePath } from "./command-paths.ts"
import type { CommandFacts } from "./command-verdict.ts"
import { invocations, optionValues } from "./invocation.ts"
import type { Invocation } from "./invocation.ts"

/** The directory of the repository that a git command uses; undefined when it is not known. */
export function repositoryDirectory(call: Invocation): string | undefined {
  const variable = (pattern: RegExp): readonly ShellWord[] =>
    call.command.assignments.flatMap(({ name, value }) => (pattern.test(name) ? [value] : []))
  const repository = [...optionValues(call, "--git-dir"), ...variable(/^GIT_DIR$/u)].at(-1)
  const changed = [...optionValues(call, "-C"), ...optionValues(call, "--repository", "-R")]
  const directory = changed.reduce<string | undefined>(
    (base, word) => (word.known ? absolutePath(word, base) : undefined),
    call.command.directory,
  )
  if (repository === undefined) return directory
  const path = repository.known ? absolutePath(repository, directory) : undefined
  return path === undefined ? undefined : posix.dirname(path)
}

/** The files that say where the pushes of a line from directories below the workspace lead. Their text is read when the line is judged. */
export function repositoryFiles(understood: UnderstoodCommand, facts: CommandFacts): readonly string[] {
  const directories = pushDirectories(understood, facts)
  if (directories.length === 0) return []
  return [facts.workspaceRoot, ...directories].flatMap((directory) => [`${directory}/.git`, `${directory}/.git/config`])
}

/** The directories below the workspace from which a line pushes, and those above them. */
export function pushDirectories(understood: UnderstoodCommand, facts: CommandFacts): readonly string[] {
  return understood.commands.flatMap((command) => {
    if (command.source === "remote" || !/^(?:git|jj|hub)$/u.test(command.program ?? "")) return []
    if (!command.argv.some(({ text }) => PUSHING.test(text))) return []
    const [call] = invocations(command, understood, facts)
    return call === undefined ? [] : directoriesBelow(call)
  })
}

const PUSHING = /^(?:push|send-pack|http-push|lfs|subtree|annex|svn)$/u
const MOST_LEVELS = 12

/** The directory of a push and those above it, as far as they are in the workspace and not its root. */
function directoriesBelow(call: Invocation): readonly string[] {
  const { workspaceRoot, realPath } = call.facts
  const directory = repositoryDirectory(call)
  const found = new Set<string>()
  for (const start of directory === undefined ? [] : [directory, realPath(directory)]) {
    let current = start
    for (
      let level = 0;
      level < MOST_LEVELS && isWithin(current, workspaceRoot) && current !== workspaceRoot;
      level += 1
    ) {
      found.add(current)
      current = posix.dirname(current)
    }
  }
  return [...found]
}

/**
 * A push from a repository inside the one of the workspace, to an address that the latter does not have: a command may have made it. Where the
 * workspace is a directory of several repositories, these are the user's own, unless they are new.
 */
export function isInForeignRepository(call: Invocation): boolean {
  const { texts, workspaceRoot, newRepositories } = call.facts
  const directory = repositoryDirectory(call)
  if (directory !== undefined && TEMPORARY.test(directory) && !isWithin(directory, workspaceRoot)) return true
  const outer = texts?.get(`${workspaceRoot}/.git/config`)
  if (outer === undefined && directoriesBelow(call).some((inner) => newRepositories?.has(inner) === true)) return true
  if (texts === undefined || outer === undefined) return false
  const known = new Set(addresses(outer))
  return directoriesBelow(call).some((inner) => {
    const link = /^gitdir:\s*(\S.*)$/mu.exec(texts.get(`${inner}/.git`) ?? "")?.[1]
    if (link !== undefined) return !isWithin(posix.resolve(inner, link.trim()), `${workspaceRoot}/.git`)
    const settings = texts.get(`${inner}/.git/config`)
    return settings !== undefined && (LEADING.test(settings) || addresses(settings).some((url) => !known.has(url)))
  })
}

function addresses(settings: string): readonly string[] {
  return Array.from(settings.matchAll(/^\s*(?:\[[^\]]*\]\s*)?(?:push)?url\s*=\s*(.*?)\s*$/gimu), ([, url]) => url ?? "")
}

const LEADING = /insteadof|^\s*\[\s*include|pushdefault/imu
const TEMPORARY = /^\/(?:private\/)?(?:tmp|var\/tmp|dev\/shm)(?:\/|$)/u
